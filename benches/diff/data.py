"""A table and a restatement of it whose difference is known by construction.

DIR/table       Delta table, partitioned by fiscal_period, four periods
DIR/staging     Parquet files: the same periods, restated, in another order
DIR/truth.json  before, source, inserted, updated, unchanged, deleted per period

Every cell is a function of the seed, the period and the row's number, so no row has to be kept:
both sides are written chunk by chunk, and the order of the rows and the choice of those that
change come from permutations that are computed, not stored. Memory does not grow with the rows.
"""
import json
import os
import shutil
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

PERIODS = ["2026001", "2026002", "2026003", "2026004"]
KEY = ["company_code", "fiscal_period", "doc_number"]
CHUNK = 1 << 18
FILES_PER_PERIOD = 4
STAGING_FILES = 8
ROWS_PER_FILE = 2_000_000

SCHEMA = pa.schema([
    ("company_code", pa.string()),
    ("fiscal_period", pa.string()),
    ("doc_number", pa.string()),
    ("gl_account", pa.string()),
    ("amount", pa.decimal128(18, 2)),
    ("quantity", pa.float64()),
    ("currency", pa.string()),
    ("posting_date", pa.date32()),
    ("status", pa.string()),
    ("updated_at", pa.timestamp("us", tz="UTC")),
])
COMPANIES = pa.array(["1000", "1010", "2000", "3000", "DE01", "US07"])
CURRENCIES = pa.array(["EUR", "USD", "INR"])
STATUSES = pa.array(["open", "cleared", "parked", None])
ACCOUNTS = pa.array([f"0000{400000 + i}" for i in range(997)])
# Two hex digits of each byte, as they lie in memory.
HEX = np.frombuffer("".join(f"{i:02x}" for i in range(256)).encode(), dtype=np.uint8).reshape(256, 2)
# How much of the asked-for share a period gets; each effect starts elsewhere in the row, so that
# no two periods have the same counts and an answer under the wrong period is found.
UNEVEN = [0.7, 1.1, 1.3, 0.9]
FIRST_DAY = 20454  # 2026-01-01 in days since 1970
FIRST_MICROS = FIRST_DAY * 86_400_000_000


def mix(x, salt):
    """splitmix64 of numbers under a salt: a bijection of 64 bits, so distinct numbers stay distinct."""
    x = x.astype(np.uint64) + np.uint64((salt * 0x9E3779B97F4A7C15) & (2**64 - 1))
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


class Permutation:
    """A pseudo-random order of 0..n: a Feistel network over the next power of four, walked until inside."""

    def __init__(self, n, salt):
        self.n, self.salt = n, salt
        self.half = np.uint64(max(1, (max(n - 1, 1).bit_length() + 1) // 2))
        self.mask = np.uint64((1 << int(self.half)) - 1)

    def at(self, places):
        """What stands at the places: an array of int64 in 0..n for an array of the same length."""
        x = self._step(places.astype(np.uint64))
        outside = np.flatnonzero(x >= self.n)
        while len(outside):
            x[outside] = self._step(x[outside])
            outside = outside[x[outside] >= self.n]
        return x.astype(np.int64)

    def _step(self, x):
        left, right = x >> self.half, x & self.mask
        for turn in range(4):
            left, right = right, left ^ (mix(right, self.salt * 8 + turn) & self.mask)
        return (left << self.half) | right


class Period:
    """One period's rows: numbers 0..rows are in the table, rows..rows+inserted only in the restatement."""

    def __init__(self, number, rows, shares, seed):
        self.name, self.rows = PERIODS[number], rows
        self.salt = seed * 1000 + number * 16 + 1
        self.deleted, self.updated, self.inserted = (
            int(rows * share * UNEVEN[(number + i) % len(UNEVEN)]) for i, share in enumerate(shares))
        self.source = rows - self.deleted + self.inserted
        # The order decides: the first are deleted, the next updated, the rest unchanged.
        self.order = Permutation(rows, self.salt)

    def truth(self):
        return {"before": self.rows, "source": self.source, "inserted": self.inserted, "updated": self.updated,
                "unchanged": self.rows - self.deleted - self.updated, "deleted": self.deleted}

    def delivered(self, places):
        """Row numbers and whether each is changed, for places 0..source of the restatement."""
        kept = self.rows - self.deleted
        numbers = places - kept + self.rows
        old = places < kept
        numbers[old] = self.order.at(places[old] + self.deleted)
        return numbers, old & (places < self.updated)

    def cells(self, numbers, changed=None):
        """The rows of these numbers as one table. A changed row differs in exactly one column."""
        h = mix(numbers, self.salt + 1)
        cents = (h % np.uint64(10_000_000)).astype(np.int64) - 5_000_000
        days = FIRST_DAY + (h >> np.uint64(24)) % np.uint64(28)
        status = (h >> np.uint64(32)) % np.uint64(4)
        no_amount = (h >> np.uint64(36)) % np.uint64(64) == 0
        quantity = ((h >> np.uint64(40)) % np.uint64(100_000)).astype(np.float64) / 1000
        quantity[(h >> np.uint64(42)) % np.uint64(1024) == 0] = np.nan
        if changed is not None:
            which = mix(numbers, self.salt + 2) % np.uint64(4)
            cents += np.where(changed & (which == 0), 125, 0)
            no_amount &= ~(changed & (which == 0))  # NULL became a value
            status = (status + (changed & (which == 1))) % np.uint64(4)
            days = days + (changed & (which == 2))
            quantity = np.where(changed & (which == 3), np.where(np.isnan(quantity), 0.0, quantity + 0.5), quantity)
        micros = FIRST_MICROS + (mix(numbers, self.salt + 3) % np.uint64(10**12)).astype(np.int64)
        pick = lambda values, index: values.take(pa.array(index.astype(np.int64)))
        return pa.Table.from_arrays([
            pick(COMPANIES, (h >> np.uint64(44)) % np.uint64(len(COMPANIES))),
            pa.repeat(pa.scalar(self.name), len(numbers)),
            self.documents(numbers),
            pick(ACCOUNTS, (h >> np.uint64(48)) % np.uint64(len(ACCOUNTS))),
            decimals(cents, no_amount),
            pa.array(quantity, from_pandas=False),
            pick(CURRENCIES, (h >> np.uint64(52)) % np.uint64(len(CURRENCIES))),
            pa.array(days.astype(np.int32)).cast(pa.date32()),
            pick(STATUSES, status),
            pa.array(micros).cast(SCHEMA.field("updated_at").type),
        ], schema=SCHEMA)

    def documents(self, numbers):
        """Document numbers of 24 characters, one for each row number."""
        text = np.empty((len(numbers), 24), dtype=np.uint8)
        text[:, :8] = np.frombuffer(f"{self.name}-".encode(), dtype=np.uint8)
        text[:, 8:] = HEX[mix(numbers, self.salt + 4).view(np.uint8).reshape(-1, 8)].reshape(-1, 16)
        starts = np.arange(len(numbers) + 1, dtype=np.int32) * 24
        return pa.Array.from_buffers(pa.string(), len(numbers), [None, pa.py_buffer(starts), pa.py_buffer(text)])


def decimals(cents, missing):
    """decimal(18,2) from cents: 16 bytes each, the sign in the upper eight."""
    words = np.empty((len(cents), 2), dtype=np.int64)
    words[:, 0], words[:, 1] = cents, cents >> 63
    present = pa.py_buffer(np.packbits(~missing, bitorder="little"))
    return pa.Array.from_buffers(pa.decimal128(18, 2), len(cents), [present, pa.py_buffer(words)])


def chunks(rows, files):
    """(file, first, last) of pieces of up to CHUNK rows; the files are about equally long."""
    for file in range(files):
        start, end = rows * file // files, rows * (file + 1) // files
        for first in range(start, end, CHUNK):
            yield file, first, min(first + CHUNK, end)


def write(path, schema, pieces):
    """Writes one Parquet file the way Spark does (snappy, decimals as integers); the rows written."""
    rows = 0
    with pq.ParquetWriter(path, schema, compression="snappy", store_decimal_as_integer=True) as out:
        for piece in pieces:
            out.write_table(piece)
            rows += len(piece)
    return rows


def by_file(pieces):
    """Groups (file, first, last) by their file."""
    files = {}
    for file, first, last in pieces:
        files.setdefault(file, []).append((first, last))
    return sorted(files.items())


def make_table(directory, periods):
    from deltalake import Schema
    from deltalake.transaction import AddAction, create_table_with_add_actions

    stored = pa.schema([field for field in SCHEMA if field.name != "fiscal_period"])
    adds = []
    for period in periods:
        folder = f"fiscal_period={period.name}"
        os.makedirs(os.path.join(directory, folder))
        files = max(FILES_PER_PERIOD, -(-period.rows // ROWS_PER_FILE))
        for file, pieces in by_file(chunks(period.rows, files)):
            path = f"{folder}/part-{file:05d}.snappy.parquet"
            full = os.path.join(directory, path)
            rows = write(full, stored, (period.cells(np.arange(a, b)).select(stored.names) for a, b in pieces))
            stat = os.stat(full)
            adds.append(AddAction(path, stat.st_size, {"fiscal_period": period.name}, int(stat.st_mtime * 1000), True,
                                  json.dumps({"numRecords": rows})))
            say(f"{path}: {rows:,} rows")
    create_table_with_add_actions(os.path.abspath(directory), Schema.from_arrow(SCHEMA), adds,
                                  partition_by=["fiscal_period"])


def make_staging(directory, periods, seed):
    os.makedirs(directory)
    total = sum(period.source for period in periods)
    order = Permutation(total, seed * 1000 + 999)
    ends = np.cumsum([period.source for period in periods])

    def rows(first, last):
        places = order.at(np.arange(first, last))
        which = np.searchsorted(ends, places, side="right")
        parts, back = [], []
        for number, period in enumerate(periods):
            here = np.flatnonzero(which == number)
            parts.append(period.cells(*period.delivered(places[here] - (ends[number] - period.source))))
            back.append(here)
        # Back into the order of the places: periods stand mixed, as in an extract.
        return pa.concat_tables(parts).combine_chunks().take(pa.array(np.argsort(np.concatenate(back))))

    files = max(STAGING_FILES, -(-total // ROWS_PER_FILE))
    for file, pieces in by_file(chunks(total, files)):
        path = os.path.join(directory, f"extract-{file:05d}.snappy.parquet")
        written = write(path, SCHEMA, (rows(first, last) for first, last in pieces))
        say(f"{os.path.basename(path)}: {written:,} rows")


def say(text):
    print(text, file=sys.stderr, flush=True)


def make(directory, rows, updated, inserted, deleted, seed):
    """Makes the folder and its truth.

    Raises SystemExit where it holds something that this did not make, or the numbers make no sense.
    """
    if rows < len(PERIODS):
        sys.exit(f"--rows {rows}: at least {len(PERIODS)} rows are needed, one a period")
    most = 1 / max(UNEVEN)
    if min(updated, inserted, deleted) < 0 or updated + deleted > most:
        sys.exit(f"the shares must not be negative, and --updated and --deleted together not more than {most:.2f}")
    if os.path.exists(directory):
        if os.listdir(directory) and not os.path.exists(os.path.join(directory, "truth.json")):
            sys.exit(f"{directory} is not empty and was not made by this benchmark; give another folder")
        shutil.rmtree(directory)
    os.makedirs(directory)
    started = time.monotonic()
    of_period = [rows * (i + 1) // len(PERIODS) - rows * i // len(PERIODS) for i in range(len(PERIODS))]
    periods = [Period(i, n, (deleted, updated, inserted), seed) for i, n in enumerate(of_period)]
    make_table(os.path.join(directory, "table"), periods)
    make_staging(os.path.join(directory, "staging"), periods, seed)
    truth = {"rows": rows, "seed": seed, "periods": {period.name: period.truth() for period in periods}}
    with open(os.path.join(directory, "truth.json"), "w") as out:
        json.dump(truth, out, indent=1)
    say(f"made {directory} in {time.monotonic() - started:.1f} s")
