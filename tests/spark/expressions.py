"""What does a real Spark say to expressions?

usage: python3 tests/spark/expressions.py

Wants what agree.py wants. Reads the expressions in tests/predicate/spark_expressions.json, evaluates each over one row
whose columns are named there, and writes Spark's type and value (or error) beside it. A date is its days since 1970,
a timestamp its microseconds, a binary value its hexadecimal digits; everything else is its text.
"""
import datetime
import json
import os
import pathlib

from pyspark.sql import SparkSession

FILE = pathlib.Path(__file__).resolve().parents[1] / "predicate" / "spark_expressions.json"
EPOCH = datetime.datetime(1970, 1, 1)


def text(value):
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime.datetime):
        return str((value.replace(tzinfo=None) - EPOCH) // datetime.timedelta(microseconds=1))
    if isinstance(value, datetime.date):
        return str((value - EPOCH.date()).days)
    if isinstance(value, (bytes, bytearray)):
        return value.hex()
    return format(value, "f") if type(value).__name__ == "Decimal" else str(value)


def answer(spark, expression):
    try:
        frame = spark.sql(f"SELECT {expression} AS x FROM r AS t")
        kind = frame.schema["x"].dataType.simpleString()
        return {"type": kind, "value": text(frame.collect()[0][0])}
    except Exception as error:
        condition = getattr(error, "getCondition", lambda: None)()
        return {"error": (condition or type(error).__name__).split(".")[0]}


def main():
    os.environ["TZ"] = "UTC"
    builder = SparkSession.builder.master("local[1]").appName("expressions")
    for key, value in {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.driver.extraJavaOptions": "-Duser.timezone=UTC",
    }.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    cases = json.loads(FILE.read_text())
    columns = ", ".join(f"CAST({value} AS {kind}) AS {name}" for name, kind, value in cases["columns"])
    spark.sql(f"SELECT {columns}").createOrReplaceTempView("r")
    answers = [{"sql": case["sql"], **answer(spark, case["sql"])} for case in cases["expressions"]]
    head = json.dumps({"spark": spark.version, "columns": cases["columns"]}, ensure_ascii=False)
    lines = ",\n".join("  " + json.dumps(a, ensure_ascii=False) for a in answers)
    FILE.write_text(f'{head[:-1]}, "expressions": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
