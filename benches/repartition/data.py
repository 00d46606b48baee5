"""A table in 12 partitions whose rows belong to 400 companies, mixed in every file.

DIR/table       Delta table, partitioned by period
DIR/truth.json  rows, partitions, bytes

Every cell is a function of the row's number, chunk by chunk: memory does not grow with the rows.
"""
import json
import os
import shutil
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

PERIODS = [f"2026-{month:02d}" for month in range(1, 13)]
COMPANIES = pa.array([f"C{number:04d}" for number in range(400)])
CURRENCIES = pa.array(["EUR", "USD", "INR", None])
CHUNK = 1 << 18
# Of Parquet, as measured on these columns.
BYTES_PER_ROW = 54
FILES_PER_PERIOD = 4
SCHEMA = pa.schema([
    ("document", pa.string()),
    ("period", pa.string()),
    ("company", pa.string()),
    ("account", pa.int32()),
    ("amount", pa.decimal128(18, 2)),
    ("quantity", pa.float64()),
    ("currency", pa.string()),
    ("posted_at", pa.timestamp("us", tz="UTC")),
    ("text", pa.string()),
])


def spread(numbers, salt):
    """Numbers that look like noise: multiplicative hashing (Knuth, TAOCP 3, 6.4), twice."""
    x = (numbers.astype(np.uint64) + np.uint64(salt)) * np.uint64(0x9E3779B97F4A7C15)
    x ^= x >> np.uint64(29)
    x *= np.uint64(0xD1B54A32D192ED03)
    return x ^ (x >> np.uint64(32))


def rows(first, last, period):
    numbers = np.arange(first, last)
    noise = [spread(numbers, salt) for salt in range(1, 5)]
    cents = (noise[0] % np.uint64(10**9)).astype(np.int64)
    decimals = np.zeros((len(numbers), 2), dtype=np.int64)
    decimals[:, 0] = cents
    amount = pa.Array.from_buffers(pa.decimal128(18, 2), len(numbers), [None, pa.py_buffer(decimals)])
    company = pa.array((noise[1] % np.uint64(len(COMPANIES))).astype(np.int32))
    return pa.Table.from_arrays([
        pa.array(noise[2]).cast(pa.string()),
        pa.repeat(pa.scalar(period), len(numbers)),
        COMPANIES.take(company),
        pa.array((noise[1] >> np.uint64(20)).astype(np.int64) % 997).cast(pa.int32()),
        amount,
        pa.array((noise[3] % np.uint64(100_000)).astype(np.float64) / 1000),
        CURRENCIES.take(pa.array((noise[3] >> np.uint64(40)).astype(np.int64) % 4)),
        pa.array((noise[0] % np.uint64(10**13)).astype(np.int64) + 1_767_225_600_000_000).cast(SCHEMA.field("posted_at").type),
        pc.binary_join_element_wise("invoice", pa.array(noise[3] % np.uint64(10**7)).cast(pa.string()), " "),
    ], schema=SCHEMA)


def make(directory, gib):
    from deltalake import Schema
    from deltalake.transaction import AddAction, create_table_with_add_actions

    if os.path.exists(directory):
        if os.listdir(directory) and not os.path.exists(os.path.join(directory, "truth.json")):
            sys.exit(f"{directory} is not empty and was not made by this benchmark; give another folder")
        shutil.rmtree(directory)
    started, total = time.monotonic(), int(gib * (1 << 30) / BYTES_PER_ROW)
    table = os.path.join(directory, "table")
    stored = [name for name in SCHEMA.names if name != "period"]
    adds, per_file = [], max(1, total // (len(PERIODS) * FILES_PER_PERIOD))
    for number, period in enumerate(PERIODS):
        os.makedirs(os.path.join(table, f"period={period}"))
        for file in range(FILES_PER_PERIOD):
            path = f"period={period}/part-{file:05d}.snappy.parquet"
            full = os.path.join(table, path)
            start = (number * FILES_PER_PERIOD + file) * per_file
            fields = pa.schema([SCHEMA.field(name) for name in stored])
            with pq.ParquetWriter(full, fields, compression="snappy", store_decimal_as_integer=True) as out:
                for first in range(start, start + per_file, CHUNK):
                    out.write_table(rows(first, min(first + CHUNK, start + per_file), period).select(stored))
            adds.append(AddAction(path, os.path.getsize(full), {"period": period}, int(os.path.getmtime(full) * 1000), True,
                                  json.dumps({"numRecords": per_file})))
        print(f"period={period}", file=sys.stderr, flush=True)
    create_table_with_add_actions(os.path.abspath(table), Schema.from_arrow(SCHEMA), adds, partition_by=["period"])
    truth = {"rows": per_file * len(adds), "partitions": len(PERIODS), "bytes": sum(add.size for add in adds)}
    with open(os.path.join(directory, "truth.json"), "w") as out:
        json.dump(truth, out)
    print(f"made {directory}: {truth} in {time.monotonic() - started:.1f} s", file=sys.stderr)
