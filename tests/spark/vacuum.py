"""Does partwise's VACUUM take away what a real Spark's would, and can Spark go on afterwards?

usage: python3 tests/spark/vacuum.py [BINARY]

Wants Java 17, `pip install pyspark==4.0.3` and Delta Lake 4.0.0: its jar in the environment variable DELTA_JAR, or
from Maven through Spark. Builds partwise unless a binary is named. For each table Spark writes, changes and compacts it,
with deletion vectors, column mapping, change data or strange partition values; then the files of Spark's own
`VACUUM … DRY RUN` must be those of partwise's plan. After partwise's VACUUM Spark reads the same rows, its history
shows both commits, its own VACUUM finds nothing left, and it can write again.
"""
import json
import pathlib
import sys
import tempfile
import urllib.parse

import common

WORK = pathlib.Path(tempfile.mkdtemp(prefix="partwise-vacuum-"))
NONE = "'delta.deletedFileRetentionDuration' = 'interval 0 hours'"

TABLES = {
    "plain": "partitioned by (d)",
    "vectors": "partitioned by (d)|'delta.enableDeletionVectors' = 'true'",
    "mapped": "partitioned by (d)|'delta.columnMapping.mode' = 'name', 'delta.minReaderVersion' = '2', 'delta.minWriterVersion' = '5'",
    "feed": "partitioned by (d)|'delta.enableChangeDataFeed' = 'true'",
    "whole": "",
}


def partwise(binary, *arguments):
    code, out, err = common.call(binary, WORK, *arguments)
    if code != 0:
        raise AssertionError(f"{arguments} exits with {code}: {out or err}")
    return json.loads(out)


def make(spark, name, shape):
    path = WORK / name
    partitioning, _, properties = shape.partition("|")
    properties = ", ".join(p for p in (NONE, properties) if p)
    spark.sql(f"create table delta.`{path}` (id bigint, d string, v double) using delta {partitioning} tblproperties ({properties})")
    for n in range(3):
        spark.sql(f"insert into delta.`{path}` select id + {n * 50}, case id % 3 when 0 then 'München 1' when 1 then null else 'a=b/c' end, id * 1.5 from range(50)")
    spark.sql(f"delete from delta.`{path}` where id % 7 = 0")
    spark.sql(f"update delta.`{path}` set v = v + 1 where id < 20")
    spark.sql(f"optimize delta.`{path}`")
    (path / "left-over.parquet").write_bytes(b"x")
    return path


def doomed_by_spark(spark, path):
    rows = spark.sql(f"vacuum delta.`{path}` retain 0 hours dry run").collect()
    files = (pathlib.Path(urllib.parse.unquote(urllib.parse.urlparse(row.path).path)) for row in rows)
    return {str(file.relative_to(path)) for file in files if file.suffix}


def doomed_by_us(path, plan):
    # Spark lists paths once decoded; a folder's own escapes stay in ours.
    return {urllib.parse.unquote(file["path"]) for file in plan["spec"]["files"]}


def main():
    binary = sys.argv[1] if len(sys.argv) > 1 else common.build()
    spark = common.session("vacuum", WORK, spark_databricks_delta_retentionDurationCheck_enabled="false")
    failed = 0
    for name, shape in TABLES.items():
        path = make(spark, name, shape)
        before = sorted(map(str, spark.sql(f"select * from delta.`{path}`").collect()))
        theirs = {urllib.parse.unquote(file) for file in doomed_by_spark(spark, path)}
        plan = partwise(binary, "plan", "vacuum", path)
        ours = doomed_by_us(path, plan)
        problems = [f"only Spark: {f}" for f in sorted(theirs - ours)] + [f"only partwise: {f}" for f in sorted(ours - theirs)]
        report = partwise(binary, "plan", "vacuum", path, "--apply", "--yes")
        if report["files_removed"] != len(plan["spec"]["files"]) or not report["verified"]:
            problems.append(f"report: {report}")
        spark.sql(f"refresh table delta.`{path}`")
        if sorted(map(str, spark.sql(f"select * from delta.`{path}`").collect())) != before:
            problems.append("Spark reads other rows")
        history = spark.sql(f"describe history delta.`{path}` limit 2").collect()
        words = [(row.operation, dict(row.operationParameters or {}).get("status")) for row in history]
        if words != [("VACUUM END", "COMPLETED"), ("VACUUM START", None)]:
            problems.append(f"history: {words}")
        if left := doomed_by_spark(spark, path):
            problems.append(f"Spark would still remove {left}")
        spark.sql(f"insert into delta.`{path}` values (1000, 'z', 1.0)")
        if spark.sql(f"select count(*) from delta.`{path}`").first()[0] != len(before) + 1:
            problems.append("Spark's next write is not there")
        failed += bool(problems)
        print(f"{'FAILED' if problems else 'ok'}  {name}: {len(ours)} files" + "".join(f"\n    {p}" for p in problems), flush=True)
    spark.stop()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
