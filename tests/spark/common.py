"""What the scripts beside this one share: a Spark with Delta Lake, and partwise's command line.

Wants Java 17, `pip install pyspark==4.0.3` and Delta Lake 4.0.0: its jar in the environment variable DELTA_JAR, or
from Maven through Spark.
"""
import json
import os
import pathlib
import subprocess

from pyspark.sql import SparkSession

ROOT = pathlib.Path(__file__).resolve().parents[2]


def session(name, work, **more):
    """A local Spark whose files lie below `work`; `more` are settings with `_` for `.`."""
    jar = os.environ.get("DELTA_JAR")
    builder = SparkSession.builder.master("local[2]").appName(name)
    builder = builder.config("spark.jars", jar) if jar else builder.config("spark.jars.packages", "io.delta:delta-spark_2.13:4.0.0")
    settings = {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(work / "warehouse"),
        **{key.replace("_", "."): value for key, value in more.items()},
    }
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def build():
    """The binary that cargo says it built."""
    out = subprocess.run(["cargo", "build", "--locked", "--message-format=json"], cwd=ROOT, check=True, capture_output=True, text=True)
    built = [json.loads(line).get("executable") for line in out.stdout.splitlines()]
    return next(path for path in reversed(built) if path)


def call(binary, work, *arguments):
    """Exit code and standard output and error of `partwise … --json`."""
    env = dict(os.environ, PARTWISE_STATE=str(work / "state"))
    done = subprocess.run([binary, *map(str, arguments), "--json"], env=env, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def overrides(plan):
    failed = [gate["name"] for gate in plan["gates"] if gate["status"] == "fail"]
    return [part for name in failed for part in ("--override", f"{name}=a test")]
