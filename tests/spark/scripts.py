"""Do the scripts that `partwise script` prints do what partwise itself does?

usage: python3 tests/spark/scripts.py [--partwise BINARY] [NAME]...

Takes every write plan of tests/corpus that partwise makes, and some of its own (change feeds, newest rows, Delta
sources, restore, undo). Each plan is applied by partwise, the table is put back, and each script is run: spark-sql
statement by statement, pyspark by exec, delta-rs as a program of the Python named in ENGINES_PYTHON (with deltalake
and pyarrow; left out where there is none). The rows must be the same, cell by cell, and where the corpus has Spark's
truth they must be that. A script whose table moved must refuse to write. NAME picks cases. What is needed says common.py.
"""
import collections
import contextlib
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys

import case as cells
import common
import corpus

SPARK_SQL, PYSPARK, DELTA_RS = ENGINES = ("spark-sql", "pyspark", "delta-rs")


def statements(script):
    """What the shell of Spark runs, one by one."""
    code = "\n".join(line for line in script.splitlines() if not line.startswith("--"))
    return [part.strip() for part in code.split(";\n") if part.strip()]


class Scripts:
    def __init__(self, lab, binary, python):
        self.lab, self.spark, self.binary, self.python = lab, lab.spark, binary, python

    def partwise(self, *arguments, ok=(0,)):
        code, out, err = common.call(self.binary, corpus.WORK, *arguments)
        if code not in ok:
            raise AssertionError(f"{' '.join(map(str, arguments[:3]))} exits with {code}: {(out or err)[:300]}")
        return json.loads(out)

    def put_back(self, made, table):
        shutil.rmtree(table, ignore_errors=True)
        shutil.copytree(made, table)
        self.spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()

    def run(self, engine, script):
        """Nothing, or what the script said when it stopped."""
        try:
            if engine == SPARK_SQL:
                for statement in statements(script):
                    self.spark.sql(statement).collect()
            elif engine == PYSPARK:
                with contextlib.redirect_stdout(io.StringIO()):
                    exec(compile(script, "script.py", "exec"), {"spark": self.spark, "__name__": "__main__"})
            else:
                done = subprocess.run([self.python, "-"], input=script, capture_output=True, text=True)
                if done.returncode:
                    return done.stderr.strip().splitlines()[-1]
            return None
        except Exception as error:  # every script is told of
            return f"{type(error).__name__}: {str(error)[:300]}"

    def go(self, case, made, table, arguments, truth=None):
        """(engine, result) of each engine. `arguments` are those of the command that plans."""
        self.put_back(made, table)
        file = made.parent / "plan.json"
        file.unlink(missing_ok=True)
        code, out, err = common.call(self.binary, corpus.WORK, *arguments, "--out", file, "--force")
        if not file.exists():
            return [("plan", "no plan: " + json.loads(out)["error"]["kind"] if out.strip() else err[:100])]
        plan = json.loads(file.read_text())
        overrides = common.overrides(plan)
        wanted = truth
        if not plan["refusals"]:
            self.partwise("apply", file, "--yes", *overrides)
            wanted = self.lab.rows(case, table)
        results = []
        for engine in ENGINES if self.python else (SPARK_SQL, PYSPARK):
            self.put_back(made, table)
            code, out, err = common.call(self.binary, corpus.WORK, "script", file, "--for", engine, *overrides)
            answer = json.loads(out)
            if "error" in answer:
                results.append((engine, f"refused: {answer['error']['kind']}: {answer['error']['message']}"))
                continue
            said = self.run(engine, answer["script"])
            if said:
                results.append((engine, f"WRONG: stopped: {said}"))
                continue
            rows = self.lab.rows(case, table)
            if wanted is None or not cells.same_rows(rows, wanted):
                results.append((engine, f"WRONG: rows {rows}, wanted {wanted}"))
                continue
            # A second run finds a table that moved.
            again = self.run(engine, answer["script"])
            held = again and "no longer at version" in again and cells.same_rows(self.lab.rows(case, table), rows)
            results.append((engine, "same" if held else f"WRONG: a second run: {again}"))
        return results

    def of_corpus(self, case):
        folder = self.lab.build(case)
        form = "flags" if case["write"].get("flags") is not None else "sql"
        table = folder / "table"
        arguments = corpus.Partwise(self.binary, self.lab).arguments(case, form, table, folder)
        stated = case.get("partwise", {}).get("rows")
        results = self.go(case, folder / "made", table, arguments, stated or case["truth"].get("rows"))
        shutil.rmtree(folder)
        return results

    def of_lines(self, name, columns, by, commits, source):
        """A case of this file: (name, type) columns, rows by commit, a source as (columns, rows) or None."""
        typed = lambda columns: [{"name": n, "type": t} for n, t in columns]
        case = {
            "name": name,
            "table": {"columns": typed(columns), "partition_by": by, "commits": commits},
            "source": {"columns": typed(source[0]), "rows": source[1]},
        }
        return case, self.lab.build(case)


def own_cases(scripts):
    """(name, results) of the plans that no statement says."""
    columns, by = [("d", "date"), ("k", "long"), ("v", "string"), ("n", "decimal(10,2)")], ["d"]
    first = [["2024-01-01", 1, "a", "1.00"], ["2024-01-01", 2, "b", "2.00"], ["2024-01-02", 3, "it's \\ ${x} ü", "3.00"], [None, 4, None, None]]
    second = [["2024-01-03", 5, "e", "5.00"]]
    feed = [("op", "string"), *columns[:3], ("n", "decimal(8,2)"), ("seq", "integer")]
    rows = [
        ["U", "2024-01-01", 1, "a2", "1.50", 1],
        ["U", "2024-01-01", 1, "a3", "1.75", 2],
        ["D", "2024-01-01", 2, None, None, 3],
        ["B", "2024-01-02", 3, "old", "3.00", 4],
        ["U", None, 4, "d", "4.00", 5],
        ["I", "2024-01-04", 6, "f", "6.00", 6],
        ["D", "2024-01-04", 7, "gone", None, 7],
    ]
    codes = "op=U:upsert,I:upsert,D:delete,B:before-image"
    view = ["--key", "k", "--operation-column", codes, "--latest-by", "seq"]
    plain = (columns, [["2024-01-01", 1, "new", "9.99"], [None, 4, "x", "0.01"], ["2024-01-05", 8, "y", None]])
    late = (columns, [["2024-01-01", 1, "again", "1.00"], ["2024-01-02", 9, "late", "1.00"]])
    made = [
        ("feed-merge", (feed, rows), ["merge", *view]),
        ("feed-insert-only", (feed, rows), ["merge", *view, "--insert-only"]),
        ("feed-overwrite", (feed, rows), ["overwrite", *view]),
        ("feed-append", (feed, rows), ["append", *view]),
        ("exact-partitions", plain, ["overwrite", "--key", "k"]),
        ("overwrite-all", plain, ["overwrite", "--key", "k", "--mode", "static"]),
        ("late-rows", late, ["merge", "--key", "k", "--insert-only"]),
        ("delete-missing", plain, ["merge", "--key", "k", "--delete-missing"]),
        ("replace-where-rows", (columns, [["2024-01-01", 2, "z", "2.50"]]), ["replace-where", "--where", "k >= 2 AND d = DATE '2024-01-01'"]),
    ]  # fmt: skip
    for name, source, (kind, *flags) in made:
        case, folder = scripts.of_lines(name, columns, by, [first, second], source)
        table = folder / "table"
        yield name, scripts.go(case, folder / "made", table, ["plan", kind, table, "--source", folder / "source", *flags])
    # A version of a Delta table as the source.
    case, folder = scripts.of_lines("delta-source", columns, by, [first, second], plain)
    other = folder / "other"
    scripts.spark.read.parquet(str(folder / "source")).write.format("delta").save(str(other))
    scripts.spark.read.parquet(str(folder / "source")).write.format("delta").mode("append").save(str(other))
    table = folder / "table"
    yield "delta-source", scripts.go(case, folder / "made", table, ["plan", "overwrite", table, "--source", f"{other}@v0", "--key", "k"])
    # Going back, by version and by operation.
    yield "restore", scripts.go(case, folder / "made", table, ["plan", "restore", table, "--to", 1])
    scripts.put_back(folder / "made", table)
    scripts.partwise("plan", "overwrite", table, "--source", folder / "source", "--key", "k", "--apply", "--yes")
    shutil.rmtree(folder / "made")
    shutil.copytree(table, folder / "made")
    yield "undo", scripts.go(case, folder / "made", table, ["undo", table])


def main():
    words = sys.argv[1:]
    binary = None
    if "--partwise" in words:
        at = words.index("--partwise")
        binary = words[at + 1]
        del words[at : at + 2]
    chosen = lambda name: not words or any(word in name for word in words)
    python = os.environ.get("ENGINES_PYTHON")
    if not python:
        print("delta-rs is left out: ENGINES_PYTHON names no Python with deltalake and pyarrow")
    lab = corpus.Lab()
    scripts = Scripts(lab, binary or common.build(), python)
    totals = collections.defaultdict(collections.Counter)
    wrong = 0
    try:
        taken = [case for path in cells.files() for case in cells.load(path) if chosen(case["name"])]
        todo = ((case["name"], lambda case=case: scripts.of_corpus(case)) for case in taken)
        own = own_cases(scripts) if not words or any(w == "own" for w in words) else ()
        for name, results in own:
            wrong += told(name, results, totals)
        for name, run in todo:
            try:
                results = run()
            except Exception as error:  # every case is told of, also after a broken one
                results = [("plan", f"WRONG: {type(error).__name__}: {str(error)[:300]}")]
            wrong += told(name, results, totals)
    finally:
        lab.spark.stop()
        shutil.rmtree(corpus.WORK)
    for engine, counted in totals.items():
        print(f"{engine}: " + ", ".join(f"{n} {word}" for word, n in sorted(counted.items())))
    sys.exit(wrong > 0)


def told(name, results, totals):
    for engine, result in results:
        totals[engine][result.split(":")[0]] += 1
    print(f"{name}: " + "; ".join(f"{engine} {result}" for engine, result in results), flush=True)
    return sum("WRONG" in result for _, result in results)


if __name__ == "__main__":
    main()
