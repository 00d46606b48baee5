"""Spark's truth about every write plan of tests/corpus, and whether partwise does the same.

usage: python3 tests/spark/corpus.py record [NAME]...
       python3 tests/spark/corpus.py check [--partwise BINARY] [NAME]...

`record` runs each statement on a real Spark and writes what came of it into the case: the rows, the metrics of the
commit, or the class of the error. `check` also runs partwise on copies of the table, once by its flags and once by the
SQL statement, compares the tables cell by cell and the plan's numbers with Spark's metrics, and, where it ran every
case, writes tests/spark/CORPUS.md. NAME picks cases whose name contains it. What is needed says common.py.
"""
import collections
import datetime
import json
import logging
import os
import pathlib
import re
import shutil
import sys
import tempfile
import time

import case as corpus
import common
from pyspark.errors import PySparkException

WORK = pathlib.Path(tempfile.mkdtemp(prefix="partwise-corpus-"))
REPORT = pathlib.Path(__file__).with_name("CORPUS.md")
# What says something about rows or files and does not depend on sizes or times.
METRICS = (
    "numSourceRows", "numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsMatchedUpdated",
    "numTargetRowsNotMatchedBySourceUpdated", "numTargetRowsDeleted", "numTargetRowsMatchedDeleted",
    "numTargetRowsNotMatchedBySourceDeleted", "numTargetRowsCopied", "numTargetFilesAdded", "numTargetFilesRemoved",
    "numTargetDeletionVectorsAdded", "numOutputRows", "numFiles", "numRemovedFiles", "numDeletedRows", "numCopiedRows",
)  # fmt: skip
# Kinds of errors that are no answer to a plan.
FAULTS = {"Internal", "Storage", "NotATable", "LogGap", "BadCommit", "BadCheckpoint", "BadMetadata", "BadDataFile", "BadSource"}
# Wrappers around the error that tells what was wrong.
WRAPPERS = {"TASK_WRITE_FAILED", "FAILED_READ_FILE", "FAILED_EXECUTE_UDF", "NESTED", "INTERNAL_ERROR", "SQLSTATE"}


class Lab:
    """One Spark session, and one folder a case."""

    def __init__(self):
        os.environ["TZ"] = "UTC"
        time.tzset()
        # Compiling code takes longer than these few rows.
        fast = {"spark_default_parallelism": "1", "spark_sql_shuffle_partitions": "1", "spark_sql_codegen_wholeStage": "false"}
        self.spark = common.session("corpus", WORK, spark_sql_session_timeZone="UTC", **fast)
        # Errors are part of the truth and told case by case.
        self.spark.sparkContext.setLogLevel("OFF")
        logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)

    def frame(self, columns, rows):
        typed = [tuple(corpus.to_spark(c["type"], cell) for c, cell in zip(columns, row, strict=True)) for row in rows]
        return self.spark.createDataFrame(typed, corpus.ddl(columns)).coalesce(1)

    def build(self, case):
        """The table and the source as folders, by Spark alone."""
        folder = WORK / case["name"]
        table, made, source = case["table"], folder / "made", case["source"]
        by = ", ".join(f"`{name}`" for name in table.get("partition_by", []))
        properties = ", ".join(f"'{k}' = '{v}'" for k, v in table.get("properties", {}).items())
        self.spark.sql(
            f"CREATE TABLE delta.`{made}` ({corpus.ddl(table['columns'])}) USING delta"
            + (f" PARTITIONED BY ({by})" if by else "")
            + (f" TBLPROPERTIES ({properties})" if properties else "")
        )
        # Spark takes a CHECK constraint only for a table that is there.
        for name, condition in table.get("checks", {}).items():
            self.spark.sql(f"ALTER TABLE delta.`{made}` ADD CONSTRAINT {name} CHECK ({condition})")
        for rows in table["commits"]:
            self.frame(table["columns"], rows).write.format("delta").mode("append").save(str(made))
        if "delete" in table:
            self.spark.sql(f"DELETE FROM delta.`{made}` WHERE {table['delete']}").collect()
        self.frame(source["columns"], source["rows"]).write.parquet(str(folder / "source"))
        return folder

    def rows(self, case, path):
        """The table's rows as the corpus writes cells, sorted."""
        columns = case["table"]["columns"]
        rows = self.spark.read.format("delta").load(str(path)).collect()
        texts = [[corpus.from_spark(c["type"], value) for c, value in zip(columns, row, strict=True)] for row in rows]
        return corpus.ordered(texts)

    def newest(self, path):
        """The newest version and the metrics of its commit, as the log has them."""
        entry = max((path / "_delta_log").glob("*.json"))
        actions = map(json.loads, entry.read_text("utf-8").splitlines())
        info = next((action["commitInfo"] for action in actions if "commitInfo" in action), {})
        return {"version": int(entry.stem), "operationMetrics": info.get("operationMetrics", {})}

    def run(self, case, folder):
        """Spark's truth: what the statement does to a copy of the table."""
        path = folder / "spark"
        shutil.copytree(folder / "made", path)
        self.spark.sql(f"CREATE TABLE target USING delta LOCATION '{path}'")
        self.spark.read.parquet(str(folder / "source")).createOrReplaceTempView("staging")
        conf = case["write"].get("conf", {})
        before = self.newest(path)["version"]
        for key, value in conf.items():
            self.spark.conf.set(key, value)
        try:
            self.spark.sql(corpus.sql(case)).collect()
            error = None
        except Exception as raised:  # every class is wanted, also that of a Java exception
            error = error_class(raised)
        finally:
            for key in conf:
                self.spark.conf.unset(key)
        entry = self.newest(path)
        self.spark.sql("DROP TABLE target")
        if error:
            assert entry["version"] == before, "an error, and a commit beside it"
            return {"error": error, "rows": self.rows(case, path)}
        committed = entry["version"] > before
        given = entry["operationMetrics"] if committed else {}
        metrics = {name: int(given[name]) for name in METRICS if name in given}
        return {"committed": committed, "metrics": metrics, "rows": self.rows(case, path)}


def error_class(raised):
    """The class of the innermost error that has one."""
    # PySpark has no texts for Delta's classes and stumbles over some of them, but then it names the class.
    lost = re.search(r"Cannot find main error class '([A-Z_]+)'", str(raised))
    if lost:
        return lost[1]
    own = raised.getCondition() if isinstance(raised, PySparkException) else None
    if own and own.split(".")[0] not in WRAPPERS:
        return own
    named = [found for found in re.findall(r"\[([A-Z][A-Z_]+(?:\.[A-Z_]+)*)\]", str(raised)) if found not in WRAPPERS]
    if not named:
        raise raised
    return named[-1]


def record(lab, chosen):
    for path in corpus.files():
        cases = corpus.load(path)
        for case in filter(chosen, cases):
            try:
                case["truth"] = lab.run(case, lab.build(case))
            except Exception as error:
                lab.spark.sql("DROP TABLE IF EXISTS target")
                print(f"BROKEN {case['name']}: {str(error)[:300]}", flush=True)
                continue
            print(f"{case['name']}: {spark_words(case['truth'])}", flush=True)
        corpus.save(path, cases)


def spark_words(truth):
    if "error" in truth:
        return truth["error"]
    words = {"numTargetRowsInserted": "inserted", "numTargetRowsUpdated": "updated", "numTargetRowsDeleted": "deleted"}
    m = truth["metrics"]
    said = [f"{m[name]} {word}" for name, word in words.items() if m.get(name)]
    if "numTargetRowsUpdated" not in m and "numOutputRows" in m:
        said = [f"{m['numOutputRows']} written"] + ([f"{m['numDeletedRows']} deleted"] if m.get("numDeletedRows") else [])
    return ", ".join(said) or ("nothing" if truth["committed"] else "no commit")


class Partwise:
    """Runs one form of a case through the binary."""

    def __init__(self, binary, lab):
        self.binary, self.lab = binary, lab

    def arguments(self, case, form, table, folder):
        write, source = case["write"], folder / "source"
        if form == "flags":
            return ["plan", write["kind"], table, "--source", source, *write["flags"]]
        file = folder / "statement.sql"
        file.write_text(corpus.sql(case), "utf-8")
        kind = corpus.kind_of(corpus.sql(case))
        mode = write.get("conf", {}).get("spark.sql.sources.partitionOverwriteMode", "static").lower()
        more = ["--mode", mode] if kind == "overwrite" else []
        return ["plan", kind, table, "--sql", file, "--source", f"staging={source}", *more]

    def go(self, case, form, folder):
        """`same`, `refused`, `stricter`, `stated`, `not there`, or what is wrong."""
        if form == "flags" and case["write"].get("flags") is None:
            return "–"
        table = folder / f"partwise-{form}"
        shutil.copytree(folder / "made", table)
        arguments = self.arguments(case, form, table, folder)
        code, out, err = common.call(self.binary, WORK, *arguments)
        if code == 2 and re.search(r"unexpected argument|unrecognized subcommand|required arguments", out + err):
            return "not there"
        plan = json.loads(out) if out.strip() else {}
        # Some differences are those of the statement alone.
        ours = case.get("partwise") or (case.get("statement", {}) if form == "sql" else {})
        refusals = [r["kind"] for r in plan.get("refusals", [])] or ([plan["error"]["kind"]] if "error" in plan else [])
        if refusals:
            assert code != 0, f"{refusals}, and exit code 0"
            assert not FAULTS & set(refusals), f"{refusals[0]}: {first(plan)}"
            self.untouched(case, folder, table)
            if "error" in case["truth"]:
                return "refused"
            stated = ours.get("refuses")
            return "stricter" if stated in refusals else f"WRONG: refuses, {refusals[0]}: {first(plan)}"
        if code not in (0, 3):
            return f"WRONG: exit code {code}: {(out or err)[:200]}"
        if "error" in case["truth"]:
            return "WRONG: plans what Spark refuses"
        code, out, err = common.call(self.binary, WORK, *arguments, "--apply", "--yes", *common.overrides(plan))
        if code != 0:
            return f"WRONG: apply exits with {code}: {(out or err)[:200]}"
        rows = self.lab.rows(case, table)
        wanted = ours.get("rows", case["truth"]["rows"])
        if not corpus.same_rows(rows, wanted):
            return f"WRONG: rows {rows}"
        wrong = wrong_numbers(case, form, plan["rows"])
        return f"WRONG: {wrong}" if wrong else "stated" if "rows" in ours else "same"

    def untouched(self, case, folder, table):
        version = self.lab.newest(table)["version"]
        assert version == self.lab.newest(folder / "made")["version"], "a refusal, and a commit beside it"


def first(plan):
    return plan["refusals"][0]["message"] if plan.get("refusals") else plan["error"]["message"]


def wrong_numbers(case, form, rows):
    """What of the plan's rows contradicts Spark's metrics; empty where nothing does."""
    truth, kind = case["truth"], corpus.kind_of(corpus.sql(case))
    metrics = truth["metrics"]
    updated = None if rows["updated"] is None else rows["updated"] + rows["unchanged"]
    written = rows["inserted"] + rows["unchanged"] + (rows["updated"] or 0)
    # A kind with a source of its own (SCD 2, USING (SELECT …)) counts other source rows than the statement.
    plain = case["write"]["kind"] == kind and re.search(r"USING\s+staging\b", corpus.sql(case))
    pairs = [("table_after", rows["table_after"], len(case.get("partwise", {}).get("rows", truth["rows"])))]
    if kind == "merge":
        pairs += [
            ("inserted", rows["inserted"], metrics.get("numTargetRowsInserted", 0)),
            ("updated and unchanged", updated, metrics.get("numTargetRowsUpdated", 0)),
            ("deleted", rows["deleted"], metrics.get("numTargetRowsDeleted", 0)),
        ]
        if plain and "numSourceRows" in metrics:
            pairs.append(("source", rows["source"], metrics["numSourceRows"]))
    elif "numOutputRows" in metrics:
        # A commit of replaceWhere on data columns also counts the rows that it copies.
        pairs.append(("rows written", written, metrics["numOutputRows"] - metrics.get("numCopiedRows", 0)))
    wrong = [f"{name} {have}, Spark {want}" for name, have, want in pairs if have != want]
    return "; ".join(wrong)


def check(lab, chosen, binary, whole):
    partwise = Partwise(binary, lab)
    lines, totals = [], {"flags": collections.Counter(), "sql": collections.Counter()}
    for case in filter(chosen, [case for path in corpus.files() for case in corpus.load(path)]):
        folder = lab.build(case)
        spark = lab.run(case, folder)
        results = ["same" if spark == case["truth"] else "WRONG: not what was recorded"]
        for form in ("flags", "sql"):
            try:
                result = partwise.go(case, form, folder)
            except Exception as error:  # every case is told of, also after a broken one
                result = f"WRONG: {str(error).splitlines()[0]}"
            totals[form][result.split(":")[0]] += 1
            results.append(result)
        shutil.rmtree(folder)
        lines.append((case["name"], spark_words(spark), *results))
        print(" | ".join(lines[-1]), flush=True)
    for form, counted in totals.items():
        print(f"{form}: " + ", ".join(f"{n} {word}" for word, n in sorted(counted.items())))
    if whole:
        REPORT.write_text(report(lab, binary, lines, totals), "utf-8")
    return any("WRONG" in cell for line in lines for cell in line)


def report(lab, binary, lines, totals):
    version = common.call(binary, WORK, "--version")[1].strip() or "partwise"
    delta = re.search(r"delta-spark_[\d.]+[-:]([\d.]+\d)", os.environ.get("DELTA_JAR", "delta-spark_2.13:4.0.0"))
    head = [
        "# The corpus against a real Spark",
        "",
        "Written by `tests/spark/corpus.py check`; do not edit.",
        "",
        f"{datetime.date.today()}: {version}, Spark {lab.spark.version}, Delta Lake {delta[1] if delta else '4.0.0'}; "
        f"{len(lines)} cases.",
        "",
        "**same**: the same rows, cell by cell, and numbers that agree with Spark's metrics. **refused**: Spark and "
        "partwise both refuse. **stricter**: partwise refuses where Spark goes on, and the case says why. **stated**: "
        "another result, and the case says why. **not there**: the flags are not built yet. **–**: there is no such form.",
        "",
        "| | " + " | ".join(sorted({w for c in totals.values() for w in c})) + " |",
        "| --- |" + " ---: |" * len({w for c in totals.values() for w in c}),
    ]
    words = sorted({w for c in totals.values() for w in c})
    head += [f"| {form} | " + " | ".join(str(counted[w]) for w in words) + " |" for form, counted in totals.items()]
    head += ["", "| case | Spark | as recorded | by flags | by SQL |", "| --- | --- | --- | --- | --- |"]
    clean = lambda cell: cell.replace("|", "\\|").replace("\n", " ")
    return "\n".join(head + ["| " + " | ".join(map(clean, line)) + " |" for line in lines]) + "\n"


def main():
    words = sys.argv[1:]
    if not words or words[0] not in ("record", "check"):
        sys.exit(__doc__)
    mode, words = words[0], words[1:]
    binary = None
    if "--partwise" in words:
        at = words.index("--partwise")
        binary = words[at + 1]
        del words[at : at + 2]
    chosen = lambda case: not words or any(word in case["name"] for word in words)
    lab = Lab()
    try:
        if mode == "record":
            record(lab, chosen)
            failed = False
        else:
            failed = check(lab, chosen, binary or common.build(), whole=not words)
    finally:
        lab.spark.stop()
        shutil.rmtree(WORK)
    sys.exit(failed)


if __name__ == "__main__":
    main()
