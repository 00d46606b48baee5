"""The files of tests/corpus: their layout, and how a cell's text becomes Spark's value and back.

A file is a list of cases. A cell is JSON, read by its column's type: null is NULL; whole numbers are numbers; decimals
are texts ("12.50"); floats are numbers or "NaN", "Infinity", "-Infinity", "-0.0"; dates "2024-01-31"; timestamps
"2024-01-31T12:00:00Z" in UTC, those without a zone the same without the Z, microseconds only where there are any; binary
is hex; a struct and a map are objects, an array is a list. README.md beside the files says what each field is for.
"""
import datetime
import decimal
import json
import math
import pathlib
import re

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "corpus"
WIDTH = 118


def files():
    return sorted(FOLDER.glob("*.json"))


def load(path):
    return json.loads(path.read_text("utf-8"))


def save(path, cases):
    path.write_text(layout(cases, 0, 0) + "\n", "utf-8")


def layout(value, indent, before):
    """JSON with one line for whatever fits in one, and lines filled with small things that have names. `before` is how
    much stands on the line already."""
    flat = json.dumps(value, ensure_ascii=False)
    top = indent < 4
    if not isinstance(value, (list, dict)) or not value or (not top and indent + before + len(flat) <= WIDTH):
        return flat
    inner = indent + 2
    pad = "\n" + " " * inner
    if isinstance(value, list):
        parts = [layout(item, inner, 1) for item in value]
        small = not top and all(isinstance(item, dict) for item in value)
    else:
        names = [json.dumps(key, ensure_ascii=False) + ": " for key in value]
        parts = [name + layout(item, inner, len(name) + 1) for name, item in zip(names, value.values())]
        small = not any(isinstance(item, (list, dict)) for item in value.values()) and not top
    lines = [""]
    for at, part in enumerate(parts):
        part += "," if at + 1 < len(parts) else ""
        fits = small and inner + len(lines[-1]) + 1 + len(part) <= WIDTH
        if lines[-1] and not fits:
            lines.append(part)
        else:
            lines[-1] += (" " if lines[-1] else "") + part
    left, right = "[]" if isinstance(value, list) else "{}"
    return left + pad + pad.join(lines) + "\n" + " " * indent + right


def ddl(columns):
    """The columns as Spark's DDL; Delta's names of types are also Spark's."""
    return ", ".join(f"`{c['name']}` {c['type']}" + ("" if c.get("nullable", True) else " NOT NULL") for c in columns)


def sql(case):
    text = case["write"]["sql"]
    return text if isinstance(text, str) else "\n".join(text)


def kind_of(statement):
    """The kind of plan that a statement asks for."""
    words = statement.upper()
    if words.startswith("MERGE"):
        return "merge"
    if re.match(r"INSERT\s+OVERWRITE", words):
        return "overwrite"
    return "replace-where" if re.search(r"\sREPLACE\s+WHERE\s", words) else "append"


def to_spark(kind, cell):
    if cell is None:
        return None
    if kind in ("byte", "short", "integer", "long"):
        return int(cell)
    if kind in ("float", "double"):
        return float(cell)
    if kind.startswith("decimal"):
        return decimal.Decimal(cell)
    if kind == "date":
        return datetime.date.fromisoformat(cell)
    if kind in ("timestamp", "timestamp_ntz"):
        return datetime.datetime.fromisoformat(cell)
    return bytearray.fromhex(cell) if kind == "binary" else cell


def from_spark(kind, value):
    if value is None:
        return None
    if kind in ("float", "double"):
        if math.isnan(value):
            return "NaN"
        if math.isinf(value):
            return "Infinity" if value > 0 else "-Infinity"
        return "-0.0" if value == 0 and math.copysign(1, value) < 0 else value
    if kind.startswith("decimal"):
        return format(value, "f")
    if kind == "date":
        return value.isoformat()
    if kind in ("timestamp", "timestamp_ntz"):
        return value.isoformat() + ("Z" if kind == "timestamp" else "")
    if kind == "binary":
        return bytes(value).hex()
    if kind.startswith("struct"):
        return value.asDict(recursive=True)
    return dict(sorted(value.items())) if kind.startswith("map") else value


def ordered(rows):
    return sorted(rows, key=lambda row: json.dumps(row, ensure_ascii=False))


def same_rows(one, other):
    """Cell by cell, as multisets; -0.0 is 0.0."""
    plain = lambda rows: ordered([[0.0 if cell == "-0.0" else cell for cell in row] for row in rows])
    return json.dumps(plain(one)) == json.dumps(plain(other))
