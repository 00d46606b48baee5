#!/usr/bin/env python3
"""What one more partition costs a plan: see ../README.md.

usage: run.py --partwise BINARY [--rows 300_000] [--partitions 3_000] [--repeat 5] [--dir DIR]

The same rows are planned as an overwrite of a table with one partition and of a table with many,
over two partition columns. Exit codes: 0 all counts are right; 1 not so, or a run failed; 2 usage.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time


def positive(text):
    number = int(text.replace("_", ""))
    if number < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return number


def make(folder, rows, partitions):
    """A table of `rows` rows in `partitions` partitions, one file each, and the same rows delivered
    anew, every tenth of them changed. Returns the counts that a plan must give."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq
    from deltalake import write_deltalake

    side = max(1, round(partitions ** 0.5))
    number = np.arange(rows, dtype=np.int64)
    place = number * partitions // rows
    amount = number * 7 % 100_003

    def table(values, order):
        return pa.table({
            "company": pa.array([f"C{p // side:04}" for p in place[order]]),
            "period": pa.array((place[order] % side).astype(np.int32)),
            "doc": pa.array(number[order]),
            "amount": pa.array(values[order]),
        })

    write_deltalake(os.path.join(folder, "table"), table(amount, number), partition_by=["company", "period"])
    changed = np.where(number % 10 == 0, amount + 1, amount)
    order = np.random.default_rng(1).permutation(rows)
    pq.write_table(table(changed, order), os.path.join(folder, "staging.parquet"))
    updated = len(range(0, rows, 10))
    return {"partitions": len(np.unique(place)), "updated": updated, "unchanged": rows - updated,
            "inserted": 0, "deleted": 0}


def plan(binary, folder, state):
    """(seconds of the whole process, counts of its plan)"""
    environment = dict(os.environ, PARTWISE_STATE=state)
    command = [binary, "plan", "overwrite", os.path.join(folder, "table"), "--source",
               os.path.join(folder, "staging.parquet"), "--key", "company,period,doc", "--json",
               "--config", os.path.join(state, "config.toml")]
    started = time.monotonic()
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment)
    seconds = time.monotonic() - started
    # A plan with a failed gate is printed too, with exit code 3.
    if done.returncode not in (0, 3):
        sys.exit(f"error: partwise ended with {done.returncode}: {(done.stdout + done.stderr).strip()[-500:]}")
    answer = json.loads(done.stdout)
    counts = {name: answer["rows"][name] for name in ["updated", "unchanged", "inserted", "deleted"]}
    return seconds, {"partitions": len(answer["partitions"]), **counts}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--partwise", required=True, help="the binary, a release build")
    parser.add_argument("--rows", type=positive, default=300_000)
    parser.add_argument("--partitions", type=positive, default=3_000)
    parser.add_argument("--repeat", type=positive, default=5)
    parser.add_argument("--dir", help="where the tables are made; a temporary folder without it")
    arguments = parser.parse_args()
    if not 2 <= arguments.partitions <= arguments.rows:
        parser.error("--partitions must be at least 2 and not more than --rows")
    with tempfile.TemporaryDirectory(dir=arguments.dir) as base:
        state = os.path.join(base, "state")
        os.mkdir(state)
        with open(os.path.join(state, "config.toml"), "w", encoding="utf-8"):
            pass
        sizes = [1, arguments.partitions]
        truth = {}
        for size in sizes:
            os.mkdir(os.path.join(base, str(size)))
            truth[size] = make(os.path.join(base, str(size)), arguments.rows, size)
        times = {size: [] for size in sizes}
        # One run of each warms the disk's cache and is not counted; then they take turns.
        for turn in range(arguments.repeat + 1):
            for size in sizes:
                seconds, counts = plan(arguments.partwise, os.path.join(base, str(size)), state)
                if counts != truth[size]:
                    print(f"wrong with {size} partitions: {counts}, where {truth[size]} is right", file=sys.stderr)
                    return 1
                if turn:
                    times[size].append(seconds)
    print(f"{arguments.rows:,} rows, {arguments.repeat} runs each")
    print(f"{'partitions':>10}  {'min s':>8}  {'median s':>8}  {'max s':>8}")
    for size, runs in times.items():
        print(f"{size:>10,}  {min(runs):>8.3f}  {statistics.median(runs):>8.3f}  {max(runs):>8.3f}")
    few, many = (statistics.median(times[size]) for size in sizes)
    print(f"{(many - few) * 1000 / (arguments.partitions - 1):.3f} ms for each partition more")
    return 0


if __name__ == "__main__":
    sys.exit(main())
