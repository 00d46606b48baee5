"""Do other engines read what partwise wrote?

usage: python3 tests/engines/agree.py [--partwise BINARY] [--fast]

Says which of these it finds in this Python, and asks each: delta-rs (`pip install deltalake`), DuckDB (`pip install
duckdb`; its delta extension is downloaded by DuckDB), Spark (`pip install pyspark==4.0.3`, see tests/spark/common.py;
left out with --fast). pyarrow writes the fixtures. After every kind of write each engine reads the whole table: its
rows must be those of `partwise rows`, cell by cell, and its counts those of `partwise partitions`. Prints a table of
writes and engines; exits with 1 where one differs. Without an engine it says so and exits with 0.
"""
import collections
import datetime
import decimal
import importlib.util
import json
import math
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import urllib.parse
import uuid

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORK = pathlib.Path(tempfile.mkdtemp(prefix="partwise-engines-"))
UTC = datetime.timezone.utc


# --- Engines: each gives columns and rows as Python values. ---


class DeltaRs:
    name = "delta-rs"

    def __init__(self):
        import deltalake

        self.deltalake, self.version = deltalake, deltalake.__version__

    def read(self, path):
        import pyarrow as pa

        query = self.deltalake.QueryBuilder().register("t", self.deltalake.DeltaTable(str(path)))
        table = pa.table(query.execute("SELECT * FROM t").read_all())
        return table.column_names, [list(row.values()) for row in table.to_pylist()]


class DuckDb:
    name = "DuckDB"

    def __init__(self):
        import duckdb

        self.version, self.connection = duckdb.__version__, duckdb.connect()
        self.connection.execute("SET TimeZone = 'UTC'")
        self.connection.execute("INSTALL delta")
        self.connection.execute("LOAD delta")

    def read(self, path):
        found = self.connection.execute("SELECT * FROM delta_scan(?)", [str(path)])
        return [column[0] for column in found.description], [list(row) for row in found.fetchall()]


class Spark:
    name = "Spark"

    def __init__(self):
        os.environ["TZ"] = "UTC"
        sys.path.insert(0, str(ROOT / "tests/spark"))
        import common

        self.spark = common.session("engines", WORK, spark_sql_session_timeZone="UTC")
        self.spark.sparkContext.setLogLevel("OFF")
        self.version = self.spark.version

    def read(self, path):
        frame = self.spark.read.format("delta").load(str(path))
        return frame.columns, [list(row) for row in frame.collect()]


def engines(fast):
    """Those that are here. Says of each whether it is, and if not, why."""
    found = []
    for engine, module in ((DeltaRs, "deltalake"), (DuckDb, "duckdb"), (Spark, "pyspark")):
        if engine is Spark and fast:
            print("Spark: left out by --fast")
            continue
        if importlib.util.find_spec(module) is None:
            print(f"{engine.name}: not here (no Python module {module})")
            continue
        try:
            found.append(engine())
            print(f"{engine.name}: {found[-1].version}")
        except Exception as error:  # whatever keeps it from starting is the reason
            print(f"{engine.name}: here, but cannot be used: {first_line(error)}")
    return found


def first_line(error):
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:160]


# --- Cells: one text for one value, whoever read it. ---


def cell(kind, value):
    """A value of an engine as `partwise rows --json` prints it."""
    if value is None:
        return None
    if kind in ("float", "double"):
        if math.isnan(value) or math.isinf(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        return value + 0.0
    if kind.startswith("decimal"):
        scale = int(kind.rstrip(")").split(",")[1])
        return format(value.quantize(decimal.Decimal(1).scaleb(-scale)), "f")
    if kind == "date":
        return value.isoformat()
    if kind == "timestamp":
        value = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
        return instant(value.replace(tzinfo=None)) + "Z"
    if kind == "timestamp_ntz":
        return instant(value)
    if kind == "long":
        return value if abs(value) <= 1 << 53 else str(value)
    return value


def instant(value):
    return value.isoformat().rstrip("0").rstrip(".") if value.microsecond else value.isoformat()


def multiset(rows):
    return collections.Counter(json.dumps(row, ensure_ascii=False) for row in rows)


# --- Tables by hand: Parquet files and a log. ---


def arrow_type(kind):
    import pyarrow as pa

    plain = {"long": pa.int64(), "integer": pa.int32(), "double": pa.float64(), "string": pa.string(), "boolean": pa.bool_(),
             "date": pa.date32(), "timestamp": pa.timestamp("us", tz="UTC")}  # fmt: skip
    return plain.get(kind) or pa.decimal128(*map(int, kind[8:-1].split(",")))


def parquet(path, columns, rows):
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrays = [pa.array([row[at] for row in rows], arrow_type(kind)) for at, (_, kind) in enumerate(columns)]
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(arrays, names=[name for name, _ in columns]), path)


def partition_text(value):
    return None if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def make(path, columns, by, commits, properties=None):
    """A table whose commits append these rows, one file a partition."""
    names = [name for name, _ in columns]
    log = path / "_delta_log"
    log.mkdir(parents=True)
    stored = [column for column in columns if column[0] not in by]
    for version, rows in enumerate(commits):
        lines = [{"commitInfo": {"timestamp": 1_700_000_000_000 + version, "operation": "WRITE", "operationParameters": {"mode": "Append"}}}]
        if version == 0:
            fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in columns]
            lines.append({"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}})
            lines.append({"metaData": {"id": str(uuid.uuid4()), "format": {"provider": "parquet", "options": {}}, "partitionColumns": by,
                                       "schemaString": json.dumps({"type": "struct", "fields": fields}),
                                       "configuration": properties or {}, "createdTime": 1_700_000_000_000}})  # fmt: skip
        groups = collections.defaultdict(list)
        for row in rows:
            groups[tuple(row[names.index(name)] for name in by)].append(row)
        for number, (key, group) in enumerate(groups.items()):
            texts = dict(zip(by, map(partition_text, key)))
            folder = "/".join(f"{name}={urllib.parse.quote(text or '__HIVE_DEFAULT_PARTITION__', safe='')}" for name, text in texts.items())
            name = f"{folder}/part-{version}-{number}.parquet".lstrip("/")
            picked = [[row[names.index(column)] for column, _ in stored] for row in group]
            parquet(path / name, stored, picked)
            lines.append({"add": {"path": urllib.parse.quote(name), "partitionValues": texts, "size": (path / name).stat().st_size,
                                  "modificationTime": 1_700_000_000_000, "dataChange": True,
                                  "stats": json.dumps({"numRecords": len(group)})}})  # fmt: skip
        (log / f"{version:020}.json").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


# --- partwise and the writes. ---


class Partwise:
    def __init__(self, binary):
        self.binary = binary

    def __call__(self, *arguments, ok=(0,)):
        env = dict(os.environ, PARTWISE_STATE=str(WORK / "state"))
        done = subprocess.run([self.binary, *map(str, arguments), "--json"], env=env, capture_output=True, text=True)
        if done.returncode not in ok:
            raise AssertionError(f"{' '.join(map(str, arguments[:3]))} exits with {done.returncode}: {(done.stdout or done.stderr)[:300]}")
        return json.loads(done.stdout)

    def write(self, *arguments):
        """Plans and applies, every failed gate overridden. The version that it made, or None for a refusal."""
        file = WORK / "plan.json"
        plan = self(*arguments, "--out", file, "--force", ok=(0, 3, 5))
        if plan["refusals"]:
            return None, plan["refusals"][0]["message"]
        failed = [gate["name"] for gate in plan["gates"] if gate["status"] == "fail"]
        overrides = [part for name in failed for part in ("--override", f"{name}=a test")]
        report = self("apply", file, "--yes", *overrides)
        assert report["version_after"] is not None, f"{' '.join(map(str, arguments[:3]))} wrote nothing"
        assert report["verified"] and not report["mismatches"], report
        return report["version_after"], None


def check(partwise, found, path):
    """(engine, result) of each engine for the table as it is."""
    facts = partwise("show", path)
    kinds = {column["name"]: column["type"] for column in facts["schema"]}
    own = partwise("rows", path, "--limit", 1_000_000)
    # -0.0 is 0.0.
    plain = lambda value: value + 0.0 if isinstance(value, float) else value
    rows = multiset([plain(row[own["columns"].index(name)]) for name in kinds] for row in own["rows"])
    by = facts["partition_columns"]
    counts = {json.dumps([p["values"][name] for name in by]): p["rows"] for p in partwise("partitions", path, "--count")["partitions"]}
    for engine in found:
        try:
            names, theirs = engine.read(path)
        except Exception as error:  # the table names what could not be read
            yield engine.name, f"cannot read: {first_line(error)}"
            continue
        if set(names) != set(kinds):
            yield engine.name, f"DIFFERS: columns {names}"
            continue
        read = [[cell(kinds[name], row[names.index(name)]) for name in kinds] for row in theirs]
        counted = collections.Counter(json.dumps([row[list(kinds).index(name)] for name in by]) for row in read)
        if multiset(read) != rows:
            missing, surplus = rows - multiset(read), multiset(read) - rows
            yield engine.name, f"DIFFERS: {sum(missing.values())} rows missing, {sum(surplus.values())} too many, such as {next(iter(missing + surplus))}"
        elif dict(counted) != {key: n for key, n in counts.items() if n}:
            yield engine.name, f"DIFFERS: rows by partition {dict(counted)}, partwise {counts}"
        else:
            yield engine.name, "ok"


def fixtures(partwise):
    """(name, path, [(write, arguments)]): writes follow each other on one table."""
    day = datetime.date.fromisoformat
    money = decimal.Decimal
    at = lambda text: datetime.datetime.fromisoformat(text).replace(tzinfo=UTC)
    columns = [("d", "date"), ("k", "long"), ("v", "string"), ("n", "decimal(10,2)"), ("x", "double"), ("at", "timestamp")]
    row = lambda d, k, v, n, x, t: [d and day(d), k, v, n and money(n), x, t and at(t)]
    first = [
        row("2024-01-01", 1, "a", "1.00", 0.5, "2024-01-01T00:00:00"),
        row("2024-01-01", 2, "", "-2.50", float("nan"), "2024-03-10T00:30:00.123456"),
        row("2024-01-02", 3, None, None, None, None),
        row(None, 4, "it's \\ ü 東京", "4.00", float("inf"), "1969-12-31T23:59:59"),
    ]
    second = [row("2024-01-03", 1 << 60, "e", "99999999.99", -0.0, None)]
    source = lambda name, rows, kinds=columns: (parquet(WORK / f"{name}.parquet", kinds, rows), WORK / f"{name}.parquet")[1]
    new = source("new", [row("2024-01-01", 1, "a2", "1.50", 1.5, None), row(None, 4, "x", "0.01", 0.1, None), row("2024-01-05", 8, "y", None, None, None)])
    late = source("late", [row("2024-01-02", 3, "late", "1.00", 1.0, None), row("2024-01-02", 9, "z", "1.00", 1.0, None)])
    one = source("one", [row("2024-01-01", 2, "w", "7.00", None, None)])
    odd_one = source("odd-one", [row("2024-01-04", 2, "moved", "7.50", None, None)])
    feed = source("feed", [["U", *row("2024-01-05", 8, "y2", "8.00", 8.0, None)], ["D", *row("2024-01-02", 9, None, None, None, None)]], [("op", "string"), *columns])
    days = make(WORK / "days", columns, ["d"], [first, second])
    key = ["--key", "k"]
    plan = lambda kind, given, *more: ["plan", kind, days, "--source", given, *more]
    clauses = ["--when", "MATCHED AND s.n > t.n THEN UPDATE SET n = s.n + t.n", "--when", "MATCHED THEN DELETE", "--when", "NOT MATCHED BY SOURCE AND t.x > 1 THEN UPDATE SET v = concat(t.v, '!')"]
    yield "days", days, [
        ("overwrite", plan("overwrite", new, *key)),
        ("insert only", plan("merge", late, *key, "--insert-only")),
        ("MERGE", plan("merge", late, *key)),
        ("change feed", plan("merge", feed, *key, "--operation-column", "op")),
        ("MERGE clauses", plan("merge", new, *key, *clauses)),
        ("MERGE+delete", plan("merge", one, *key, "--delete-missing")),
        ("replace rows", plan("replace-where", odd_one, "--where", "k = 2", *key)),
        ("replace partitions", plan("replace-where", one, "--where", "d <= DATE '2024-01-02'")),
        ("append", plan("append", late)),
        ("undo", ["undo", days]),
        ("restore", ["plan", "restore", days, "--to", 2]),
        ("overwrite all", plan("overwrite", new, "--mode", "static")),
        ("undo of it", ["undo", days]),
    ]  # fmt: skip
    odd = [("g", "string"), ("b", "boolean"), ("v", "integer")]
    values = ["a b", "München 1", "x/y", "100%", "a=b", "q?r#s", "it's", "東京", None]
    names = make(WORK / "names", odd, ["g", "b"], [[[g, b, i] for i, g in enumerate(values) for b in (True, False, None)]])
    changed = source("changed", [[g, True, 100 + i] for i, g in enumerate(values)], odd)
    again = source("again", [[g, None, 200 + i] for i, g in enumerate(values)], odd)
    yield "odd partitions", names, [
        ("overwrite", ["plan", "overwrite", names, "--source", changed]),
        ("MERGE", ["plan", "merge", names, "--source", again, "--key", "g,b", "--null-safe-keys"]),
        ("undo", ["undo", names]),
    ]
    flat = [("id", "long"), ("v", "string")]
    plain = make(WORK / "plain", flat, [], [[[i, f"v{i}"] for i in range(50)]])
    some = source("some", [[i, f"w{i}"] for i in range(40, 60)], flat)
    yield "no partitions", plain, [
        ("MERGE", ["plan", "merge", plain, "--source", some, "--key", "id"]),
        ("overwrite", ["plan", "overwrite", plain, "--source", some, "--key", "id"]),
        ("restore", ["plan", "restore", plain, "--to", 0]),
    ]
    versions = [("k", "long"), ("name", "string"), ("since", "date"), ("until", "date"), ("current", "boolean")]
    people = make(WORK / "people", versions, ["current"], [[[1, "A", day("2020-01-01"), None, True], [2, "B", day("2020-01-01"), None, True]]])
    moved = source("moved", [[1, "A2", day("2024-01-01")], [3, "C", day("2024-01-01")]], versions[:3])
    yield "dimension", people, [
        ("SCD type 2", ["plan", "scd2", people, "--source", moved, "--key", "k", "--track", "name", "--effective-from", "since", "--effective-to", "until", "--current", "current", "--effective-at", "s.since"]),
        ("undo", ["undo", people]),
    ]  # fmt: skip
    demo = WORK / "demo"
    subprocess.run([partwise.binary, "demo", "--no-tui", "--dir", demo], check=True, capture_output=True)
    gold = demo / "gold/working_capital"
    staging = ["--source", demo / "staging/2026006.parquet", "--key", "company_code,doc_number"]
    yield "demo", gold, [
        ("overwrite", ["plan", "overwrite", gold, *staging]),
        ("undo", ["undo", gold]),
        ("MERGE", ["plan", "merge", gold, *staging]),
        ("restore", ["plan", "restore", gold, "--to", 3]),
    ]


def built():
    """The binary that cargo says it built."""
    out = subprocess.run(["cargo", "build", "--locked", "--message-format=json"], cwd=ROOT, check=True, capture_output=True, text=True)
    paths = [json.loads(line).get("executable") for line in out.stdout.splitlines()]
    return next(path for path in reversed(paths) if path)


def main():
    words = sys.argv[1:]
    binary = words[words.index("--partwise") + 1] if "--partwise" in words else None
    found = engines("--fast" in words)
    if not found or importlib.util.find_spec("pyarrow") is None:
        print("skipped: it wants pyarrow and at least one of deltalake, duckdb, pyspark")
        return 0
    partwise = Partwise(binary or built())
    totals = {engine.name: collections.Counter() for engine in found}
    wide = max(len(f"{name}: {write}") for name, write in [("odd partitions", "replace partitions")])
    print(f"\n{'write':{wide}}  " + "  ".join(f"{engine.name:10}" for engine in found))
    told = []
    for name, path, writes in fixtures(partwise):
        for write, arguments in [("as made", None), *writes]:
            refused = None
            if arguments is not None:
                _, refused = partwise.write(*arguments)
            results = {} if refused else dict(check(partwise, found, path))
            cells = ["refused"] * len(found) if refused else [results[engine.name].split(":")[0] for engine in found]
            print(f"{f'{name}: {write}':{wide}}  " + "  ".join(f"{word:10}" for word in cells), flush=True)
            if refused:
                told.append(f"{name}: {write}: partwise refuses: {refused}")
            for engine, result in results.items():
                totals[engine][result.split(":")[0]] += 1
                if result != "ok":
                    told.append(f"{name}: {write}: {engine} {result}")
    print("\n".join(["", *told]))
    for engine, counted in totals.items():
        print(f"{engine}: " + ", ".join(f"{n} {word}" for word, n in sorted(counted.items())))
    return 1 if any("DIFFERS" in line for line in told) else 0


if __name__ == "__main__":
    try:
        code = main()
    finally:
        shutil.rmtree(WORK, ignore_errors=True)
    sys.exit(code)
