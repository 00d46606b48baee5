"""Does a real Spark read what partwise wrote?

usage: python3 tests/spark/agree.py [TABLE]...

Wants Java 17, `pip install pyspark==4.0.3` and Delta Lake 4.0.0: its jar in the environment variable DELTA_JAR, or
from Maven through Spark. Builds partwise, makes the demo lake, and takes every table named (default: the demo's gold
table and, where it is there, ../shared/tables/spark-*) through overwrite, undo, MERGE and restore. After every step
Spark's rows must be the planned ones, and Spark's own RESTORE must work on the result.
"""
import glob
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import common
from common import ROOT, overrides
from pyspark.sql import functions as F

WORK = pathlib.Path(tempfile.mkdtemp(prefix="partwise-spark-"))
NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")


def partwise(binary, *arguments, ok=(0,)):
    code, out, err = common.call(binary, WORK, *arguments)
    if code not in ok:
        raise AssertionError(f"{arguments} exits with {code}: {out or err}")
    return json.loads(out)


class Table:
    def __init__(self, spark, binary, origin):
        self.spark, self.binary = spark, binary
        self.path = WORK / origin.parent.name / origin.name
        shutil.copytree(origin, self.path)
        subprocess.run(["chmod", "-R", "u+w", self.path], check=True)
        self.facts = partwise(binary, "show", self.path)

    def rows(self, version=None):
        at = "" if version is None else f" version as of {version}"
        return sorted(map(str, self.spark.sql(f"select * from delta.`{self.path}`{at}").collect()))

    def key(self):
        flat = [c["name"] for c in self.facts["schema"] if "<" not in c["type"]]
        plain = [name for name in flat if name not in self.facts["partition_columns"]]
        return ",".join(plain[:1])

    def restated(self):
        """All rows but one, with a number or a text changed in each, as Spark writes them."""
        frame = self.spark.sql(f"select * from delta.`{self.path}`")
        fixed = {*self.facts["partition_columns"], self.key()}
        free = [(n, t) for n, t in frame.dtypes if n not in fixed and (t.startswith(NUMBERS) or t == "string")]
        # Without another column the keys themselves change: rows go and come.
        for name, kind in free[-1:] or [(n, t) for n, t in frame.dtypes if n == self.key()]:
            longer = F.concat(F.coalesce(F.col(f"`{name}`").cast("string"), F.lit("")), F.lit("7"))
            changed = longer if kind == "string" else F.col(f"`{name}`") + F.lit(1)
            frame = frame.withColumn(name, changed.cast(kind))
        source = WORK / f"source-{self.path.parent.name}-{self.path.name}"
        frame.limit(max(frame.count() - 1, 1)).coalesce(1).write.parquet(str(source))
        return source

    def write(self, kind, source, *more):
        file = WORK / "plan.json"
        plan = partwise(self.binary, "plan", kind, self.path, "--source", source, "--key", self.key(), *more, "--out", file, "--force", ok=(0, 3, 5))
        if plan["refusals"]:
            return plan, None
        report = partwise(self.binary, "apply", file, "--yes", *overrides(plan))
        return plan, report

    def go(self):
        before, version = self.rows(), self.facts["version"]
        source = self.restated()
        plan, report = self.write("overwrite", source)
        if report is None:
            return f"refused: {plan['refusals'][0]['message']}"
        written = self.rows()
        assert report["verified"] and report["version_after"] == version + 1, report
        assert len(written) == plan["rows"]["table_after"], f"Spark reads {len(written)} rows, planned {plan['rows']['table_after']}"
        newest = self.spark.sql(f"describe history delta.`{self.path}`").first()
        assert (newest.operation, newest.operationParameters["isDynamicPartitionOverwrite"]) == ("WRITE", "true")
        assert json.loads(newest.userMetadata)["partwise"]["id"] == plan["id"]
        partwise(self.binary, "undo", self.path, "--yes")
        assert self.rows() == before, "undo did not give every row back"
        plan, _ = self.write("merge", source, "--delete-missing")
        if not plan["refusals"]:
            assert len(self.rows()) == plan["rows"]["table_after"], "MERGE"
        partwise(self.binary, "plan", "restore", self.path, "--to", version, "--apply", "--yes")
        assert self.rows() == before, "restore did not give every row back"
        self.spark.sql(f"restore table delta.`{self.path}` to version as of {version + 1}").collect()
        assert self.rows() == written, "Spark's RESTORE to our version"
        counted = partwise(self.binary, "partitions", self.path, "--count")["total"]["rows"]
        assert counted == len(written), f"partwise counts {counted} after Spark's RESTORE"
        return f"{len(before)} rows through overwrite, undo, MERGE, restore, Spark's RESTORE"


def main():
    binary, spark = common.build(), common.session("agree", WORK, spark_sql_session_timeZone="Europe/Berlin")
    named = [pathlib.Path(path) for path in sys.argv[1:]]
    if not named:
        demo = WORK / "demo"
        subprocess.run([binary, "demo", "--no-tui", "--dir", demo], check=True, capture_output=True)
        shared = sorted(map(pathlib.Path, glob.glob(str(ROOT.parent / "shared/tables/spark-*-partition*"))))
        named = [demo / "gold/working_capital", *shared]
    passed = failed = 0
    for origin in named:
        try:
            print(f"ok    {origin.name}: {Table(spark, binary, origin).go()}", flush=True)
            passed += 1
        except Exception as error:  # every table is told of, also after a broken one
            print(f"WRONG {origin.name}: {str(error).splitlines()[0]}", flush=True)
            failed += 1
    spark.stop()
    shutil.rmtree(WORK)
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


main()
