"""Does a real Spark agree with what partwise writes into tables that demand something of a writer?

usage: python3 tests/spark/features.py

Wants what agree.py wants. Spark makes tables with a change data feed, a CHECK constraint, a generated partition column,
column mapping, deletion vectors, in-commit timestamps and defaults; partwise plans and applies; Spark then reads rows,
change feed and history, and writes once more.
"""
import json
import pathlib
import shutil
import sys
import tempfile

import common

WORK = pathlib.Path(tempfile.mkdtemp(prefix="partwise-features-"))
MAPPED = {"delta.columnMapping.mode": "name", "delta.enableDeletionVectors": "true"}
FEED = {"delta.enableChangeDataFeed": "true"}
TIMES = {"delta.enableInCommitTimestamps": "true"}
ROWS = "(1, date'2024-01-05', 'a', 10), (2, date'2024-02-05', 'b', 20), (3, date'2025-01-05', 'c', 30), (4, date'2025-03-05', 'd', 40)"


class Table:
    def __init__(self, spark, binary, name, properties):
        self.spark, self.binary, self.path = spark, binary, WORK / name
        builder = spark._jvm.io.delta.tables.DeltaTable.create(spark._jsparkSession).location(str(self.path))
        for column, kind in (("id", "INT"), ("day", "DATE"), ("note", "STRING"), ("amount", "INT")):
            builder = builder.addColumn(column, kind)
        column = spark._jvm.io.delta.tables.DeltaTable.columnBuilder(spark._jsparkSession, "year").dataType("INT")
        builder = builder.addColumn(column.generatedAlwaysAs("year(day)").build())
        by = spark.sparkContext._gateway.new_array(spark._jvm.java.lang.String, 1)
        by[0] = "year"
        builder = builder.partitionedBy(by)
        for key, value in properties.items():
            builder = builder.property(key, value)
        builder.execute()
        self.name = f"delta.`{self.path}`"

    def sql(self, text):
        return self.spark.sql(text.replace("$t", self.name)).collect()

    def rows(self):
        return sorted(map(tuple, self.sql("select * from $t")))

    def source(self, rows, columns="id, day, note, amount"):
        path = WORK / f"source-{self.path.name}"
        shutil.rmtree(path, ignore_errors=True)
        self.spark.sql(f"select * from values {rows} as s({columns})").coalesce(1).write.parquet(str(path))
        return path

    def plan(self, kind, source, *more, ok=(0, 3)):
        file = WORK / "plan.json"
        code, out, err = common.call(self.binary, WORK, "plan", kind, self.path, "--source", source, "--key", "id", *more, "--out", file, "--force")
        assert code in ok, f"plan {kind} exits with {code}: {out or err}"
        return json.loads(out), file

    def write(self, kind, source, *more):
        plan, file = self.plan(kind, source, *more)
        code, out, err = common.call(self.binary, WORK, "apply", file, "--yes", *common.overrides(plan))
        assert code == 0, f"apply {kind} exits with {code}: {out or err}"
        report = json.loads(out)
        assert report["verified"], report
        return plan, report

    def feed(self, version):
        reader = self.spark.read.format("delta").option("readChangeFeed", "true")
        frame = reader.option("startingVersion", version).option("endingVersion", version).load(str(self.path))
        return [(row["_change_type"], tuple(row)[:-3]) for row in frame.collect()]


def follows(old, changes, new):
    """Whether old rows, less what went, plus what came are the new rows."""
    rows = list(old)
    for kind, row in changes:
        if kind in ("delete", "update_preimage"):
            rows.remove(row)
    rows += [row for kind, row in changes if kind in ("insert", "update_postimage")]
    return sorted(rows) == new


def go(spark, binary, name, properties):
    table = Table(spark, binary, name, properties)
    table.sql("alter table $t add constraint positive check (amount > 0)")
    table.sql(f"insert into $t (id, day, note, amount) values {ROWS}")
    table.sql("delete from $t where id = 4")
    before = table.rows()
    bad = table.source("(1, date'2024-01-05', 'a', -1)")
    plan, _ = table.plan("merge", bad, ok=(5,))
    assert plan["refusals"][0]["kind"] == "ConstraintViolation", plan["refusals"]
    try:
        table.sql("insert into $t (id, day, note, amount) values (1, date'2024-01-05', 'a', -1)")
        raise AssertionError("Spark takes what partwise refuses")
    except Exception as error:
        assert "positive" in str(error), error
    checked, fed = 1, "delta.enableChangeDataFeed" in properties
    source = table.source("(1, date'2024-01-05', 'a', 11), (2, date'2025-02-05', 'b', 20), (3, date'2025-01-05', 'c', 30), (9, date'2026-01-01', 'n', 9)")
    for kind, more in (("merge", ()), ("merge", ("--delete-missing",)), ("replace-where", ("--where", "amount > 5 AND note <> 'zz'")), ("overwrite", ())):
        plan, report = table.write(kind, source, *more)
        after = table.rows()
        if report["version_after"] is None:
            assert after == before
        else:
            assert len(after) == plan["rows"]["table_after"], f"{kind}: {after}"
            assert all(row[4] == row[1].year for row in after), after
            info = table.sql("describe history $t limit 1")[0]
            assert json.loads(info.userMetadata)["partwise"]["id"] == plan["id"]
            if fed:
                changes = table.feed(report["version_after"])
                assert follows(before, changes, after), f"{kind}: {before} {changes} {after}"
            checked += 1
        before = after
        source = table.source("(1, date'2024-01-05', 'x', 12), (3, date'2025-01-05', 'c', 31)" if kind == "merge" else "(1, date'2024-01-05', 'y', 13), (7, date'2027-01-05', 'c', 31)")
    table.sql("update $t set amount = amount + 1 where id = 1")
    table.sql("insert into $t (id, day, note, amount) values (50, date'2030-01-01', 'after', 1)")
    common.call(binary, WORK, "plan", "restore", table.path, "--to", 2, "--apply", "--yes")
    version = table.sql("describe history $t limit 1")[0].version
    assert (table.sql("describe history $t limit 1")[0].operation, len(table.rows())) == ("RESTORE", 4)
    if fed:
        table.feed(version)
    return f"{checked} writes and refusals, then Spark's UPDATE and INSERT, then a restore"


def main():
    binary, spark = common.build(), common.session("features", WORK, spark_sql_session_timeZone="UTC")
    failed = 0
    for name, properties in (("feed", FEED), ("mapped", {**FEED, **MAPPED}), ("times", {**FEED, **MAPPED, **TIMES}), ("plain", TIMES)):
        try:
            print(f"ok    {name}: {go(spark, binary, name, properties)}", flush=True)
        except Exception as error:  # every table is told of, also after a broken one
            print(f"WRONG {name}: {' '.join(str(error).split())[:600]}", flush=True)
            failed += 1
    spark.stop()
    shutil.rmtree(WORK)
    sys.exit(failed > 0)


main()
