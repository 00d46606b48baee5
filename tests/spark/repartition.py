"""Does a real Spark take a table whose partition columns partwise changed, and the other way round?

usage: python3 tests/spark/repartition.py

Wants what `common.py` says. Makes tables with Spark (plain, with deletion vectors, with column mapping, with a change
feed, a constraint and a generated column), lets partwise change their partition columns, and asks Spark for the rows,
for DESCRIBE EXTENDED, for a write under the new columns, and for RESTORE to the version before. Then Spark changes the
partition columns itself, and partwise restores and repartitions what it finds.
"""
import json
import pathlib
import shutil
import sys
import tempfile

import common

WORK = pathlib.Path(tempfile.mkdtemp(prefix="partwise-repartition-"))
CASES = {
    "plain": ("", ""),
    "vectors": ("'delta.enableDeletionVectors' = 'true'", "delete from {t} where n = 7"),
    "mapped": ("'delta.columnMapping.mode' = 'name'", "alter table {t} rename column note to remark"),
    "mapped-vectors": (
        "'delta.columnMapping.mode' = 'name', 'delta.enableDeletionVectors' = 'true'",
        "delete from {t} where n in (3, 30)",
    ),
    "feed": ("'delta.enableChangeDataFeed' = 'true'", "alter table {t} add constraint positive check (n >= 0)"),
}


def partwise(binary, *arguments, ok=(0,)):
    code, out, err = common.call(binary, WORK, *arguments)
    if code not in ok:
        raise AssertionError(f"{arguments} exits with {code}: {out or err}")
    return json.loads(out)


class Table:
    def __init__(self, spark, binary, name, properties, then):
        self.spark, self.binary, self.path = spark, binary, WORK / name
        self.name = f"delta.`{self.path}`"
        self.create([pair.split(" = ") for pair in properties.split(", ") if pair])
        for start in (0, 40):
            self.sql(
                f"insert into {self.name} (n, ts, company, note, tags) select id, timestamp'2026-01-30 22:30:00' + make_interval(0, 0, 0, 0, id), "
                f"case when id % 5 = 4 then null else concat('Firma ü/', id % 3) end, concat('row ', id), array('x', null) "
                f"from range({start}, {start + 40})"
            )
        if then:
            self.sql(then.format(t=self.name))

    def create(self, properties):
        """By the builder: SQL on a path takes no generated columns."""
        tables, session = self.spark._jvm.io.delta.tables.DeltaTable, self.spark._jsparkSession
        builder = tables.create(session).location(str(self.path))
        column = tables.columnBuilder(session, "n").dataType("int").nullable(False).comment("the number")
        builder = builder.addColumn(column.build())
        for name, kind in [("ts", "timestamp"), ("company", "string"), ("note", "string"), ("tags", "array<string>")]:
            builder = builder.addColumn(name, kind)
        day = tables.columnBuilder(session, "day").dataType("date").generatedAlwaysAs("cast(ts as date)")
        by = self.spark.sparkContext._gateway.new_array(self.spark._jvm.java.lang.String, 1)
        by[0] = "company"
        builder = builder.addColumn(day.build()).partitionedBy(by)
        for key, value in properties:
            builder = builder.property(key.strip("'"), value.strip("'"))
        builder.execute()

    def sql(self, text):
        return self.spark.sql(text).collect()

    def rows(self, version=None):
        at = "" if version is None else f" version as of {version}"
        return sorted(map(str, self.sql(f"select * from {self.name}{at}")))

    def version(self):
        return self.sql(f"describe history {self.name} limit 1")[0].version

    def partitioned_by(self):
        """As DESCRIBE EXTENDED and DESCRIBE DETAIL say it."""
        lines = [(row.col_name, row.data_type) for row in self.sql(f"describe extended {self.name}")]
        start = next((i for i, line in enumerate(lines) if line[0] == "# Partition Information"), None)
        extended = []
        for name, _ in lines[start + 2:] if start is not None else []:
            if not name or name.startswith("#"):
                break
            extended.append(name)
        detail = list(self.sql(f"describe detail {self.name}")[0].partitionColumns)
        assert extended == detail, (extended, detail)
        return detail

    def described(self):
        detail = self.sql(f"describe detail {self.name}")[0]
        fields = [(f.name, f.dataType.simpleString(), f.nullable, f.metadata.get("comment")) for f in self.spark.table(self.name).schema]
        return detail.id, detail.name, detail.description, sorted(detail.properties.items()), fields

    def switch(self, *arguments):
        command = ("plan", "repartition", self.path, *arguments)
        plan = partwise(self.binary, *command, ok=(0, 3))
        failed = [gate["name"] for gate in plan["gates"] if gate["status"] == "fail"]
        # Spark's own jobs name partition columns, which is what the gate is for.
        assert set(failed) <= {"breaking-writers"}, failed
        reasons = [word for name in failed for word in ("--override", f"{name}=this script is the only writer")]
        report = partwise(self.binary, *command, *reasons, "--apply", "--yes")
        assert report["verified"], report
        return report

    def go(self):
        before, described, version = self.rows(), self.described(), self.version()
        self.switch("--by", "day", "--zorder-by", "n")
        assert self.partitioned_by() == ["day"], self.partitioned_by()
        assert self.rows() == before, "rows after the switch"
        assert self.described() == described, (described, self.described())
        newest = self.sql(f"describe history {self.name} limit 1")[0]
        assert (newest.operation, newest.operationParameters["partitionBy"]) == ("REPARTITION", '["day"]'), newest
        assert newest.operationMetrics["numOutputRows"] == str(len(before)), newest.operationMetrics
        self.feed_is_empty(version + 1)
        # Spark writes under the new columns, and restores both ways.
        self.sql(f"insert into {self.name} (n, ts, company, note, tags) values (99, timestamp'2027-01-01', 'Z', 'late', null)".replace("note", self.note()))
        assert len(self.rows()) == len(before) + 1
        self.sql(f"restore table {self.name} to version as of {version}")
        assert (self.partitioned_by(), self.rows()) == (["company"], before), "Spark's RESTORE to the version before"
        self.sql(f"restore table {self.name} to version as of {version + 1}")
        assert (self.partitioned_by(), self.rows()) == (["day"], before), "Spark's RESTORE to the switch"
        plan = partwise(self.binary, "plan", "optimize", self.path, "--apply", "--yes")
        assert self.rows() == before, plan
        self.switch("--by", "none", "--files-per-partition", "2")
        assert (self.partitioned_by(), self.rows()) == ([], before), "no partitions"
        assert self.sql(f"describe detail {self.name}")[0].numFiles == 2
        partwise(self.binary, "undo", self.path, "--yes")
        assert (self.partitioned_by(), self.rows()) == (["day"], before), "our undo"
        self.other_way(before)
        return f"{len(before)} rows"

    def note(self):
        return "remark" if "remark" in self.spark.table(self.name).columns else "note"

    def feed_is_empty(self, version):
        if dict(self.sql(f"describe detail {self.name}")[0].properties).get("delta.enableChangeDataFeed") != "true":
            return
        changes = self.sql(f"select * from table_changes_by_path('{self.path}', {version}, {version})")
        assert not changes, f"the change feed shows {len(changes)} rows"

    def other_way(self, before):
        version = self.version()
        frame = self.spark.read.format("delta").load(str(self.path))
        frame.write.format("delta").mode("overwrite").option("overwriteSchema", "true").partitionBy("company", "day").save(str(self.path))
        assert self.partitioned_by() == ["company", "day"]
        switched = self.rows()
        partwise(self.binary, "plan", "restore", self.path, "--to", version, "--apply", "--yes")
        assert (self.partitioned_by(), self.rows()) == (["day"], before), "our restore after Spark's switch"
        self.sql(f"restore table {self.name} to version as of {version + 1}")
        self.switch("--by", "company")
        assert (self.partitioned_by(), self.rows()) == (["company"], switched), "our switch after Spark's"


def expression(spark, binary):
    """A generated column that partwise adds is one to Spark."""
    table = Table(spark, binary, "expression", "", "")
    table.sql(f"alter table {table.name} set tblproperties ('team.owner' = 'x')")
    before = len(table.rows())
    table.switch("--by", "date_trunc('month', ts) AS ts_month")
    assert table.partitioned_by() == ["ts_month"]
    wrong = table.sql(f"select * from {table.name} where not (ts_month <=> date_trunc('month', ts))")
    assert not wrong and len(table.rows()) == before, wrong
    table.sql(f"insert into {table.name} (n, ts, company, note, tags) values (100, timestamp'2027-05-05 05:05:05', 'Z', 'late', null)")
    got = table.sql(f"select ts_month from {table.name} where n = 100")[0].ts_month
    assert str(got) == "2027-05-01 00:00:00", got
    try:
        table.sql(f"insert into {table.name} (n, ts, company, note, tags, ts_month) values (101, timestamp'2027-05-05', 'Z', 'x', null, timestamp'2001-01-01')")
    except Exception as error:
        assert "CHECK" in str(error).upper() or "GENERATED" in str(error).upper(), error
    else:
        raise AssertionError("Spark let a wrong generated value in")
    return f"{before} rows, and Spark computes ts_month"


def main():
    spark = common.session("repartition", WORK, spark_sql_session_timeZone="UTC")
    binary = sys.argv[1] if len(sys.argv) > 1 else common.build()
    passed = failed = 0
    runs = [(name, lambda name=name, case=case: Table(spark, binary, name, *case).go()) for name, case in CASES.items()]
    for name, run in [*runs, ("expression", lambda: expression(spark, binary))]:
        try:
            print(f"ok    {name}: {run()}", flush=True)
            passed += 1
        except Exception as error:  # every case is told of, also after a broken one
            print(f"WRONG {name}: {type(error).__name__} {str(error)[:1500]}", flush=True)
            failed += 1
    spark.stop()
    shutil.rmtree(WORK)
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


main()
