#!/usr/bin/env python3
"""The restatement diff, measured against DuckDB and polars: see ../README.md.

usage: run.py make DIR --rows N
       run.py run DIR [--partwise BINARY] [--memory-limit 1GiB] [--repeat 3]

Exit codes: 0 all counts are right and the limit was kept; 1 not so, or an engine failed; 2 usage.
"""
# Nothing heavy is imported here: a child's peak of memory counts from its parent's size at the fork.
import argparse
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.metadata import PackageNotFoundError, version

HERE = os.path.dirname(os.path.abspath(__file__))
KEY = "company_code,fiscal_period,doc_number"
COUNTS = ["before", "source", "inserted", "updated", "unchanged", "deleted"]
ENGINES = ["partwise", "duckdb", "polars"]
MIB = 1 << 20
# What the process needs beside the rows: code, the log, Parquet pages on their way.
SLACK_MIB = 200


def size(text):
    """Bytes of `1GiB`, `512MiB`, `1.5GB` or a plain number."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(i?)B?", text.strip(), re.IGNORECASE)
    if not match:
        raise argparse.ArgumentTypeError(f"{text!r} is no size; write 1GiB, 512MiB or a number of bytes")
    number, unit, binary = match.groups()
    return int(float(number) * (1024 if binary else 1000) ** " KMGT".index(unit.upper() or " "))


def positive(text):
    number = int(text.replace("_", ""))
    if number < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return number


def timed(command, environment):
    """Runs one process to its end: what it used as a whole, and what it printed."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        started = time.monotonic()
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=environment)
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.monotonic() - started
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        # Linux counts in KiB, macOS in bytes.
        peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
        run = {"wall": wall, "user": usage.ru_utime, "system": usage.ru_stime, "peak_bytes": peak,
               "exit": child.returncode}
        return run, out.read().decode(errors="replace"), err.read().decode(errors="replace")


def complaint(out, err):
    """What a process that failed said: partwise's error object, else the last line."""
    try:
        error = json.loads(out)["error"]
        return f"{error['message']} ({error['hint']})" if error.get("hint") else error["message"]
    except (ValueError, KeyError, TypeError):
        return (err.strip() or out.strip() or "it said nothing").splitlines()[-1]


def measure(engine, directory, arguments, state):
    """One run of one engine. `run["wrong"]` says what is wrong with it, or is None."""
    environment = dict(os.environ)
    if engine == "partwise":
        # A person's own settings (ignored columns, thresholds) would change the work.
        environment["PARTWISE_STATE"] = state
        if arguments.memory_limit:
            environment["PARTWISE_MEMORY_LIMIT"] = arguments.memory_limit
        else:
            environment.pop("PARTWISE_MEMORY_LIMIT", None)
        command = [arguments.partwise, "plan", "overwrite", os.path.join(directory, "table"),
                   "--source", os.path.join(directory, "staging"), "--key", KEY, "--json",
                   "--config", os.path.join(state, "config.toml")]
    else:
        command = [sys.executable, os.path.join(HERE, "peers.py"), engine, directory]
    run, out, err = timed(command, environment)
    run["engine"] = engine
    run["wrong"] = None
    # A plan with a failed gate is printed too, with exit code 3.
    if run["exit"] not in ((0, 3) if engine == "partwise" else (0,)):
        how = f"was killed by signal {-run['exit']}" if run["exit"] < 0 else f"ended with {run['exit']}"
        run["wrong"] = f"{engine} {how}: {complaint(out, err)}"
        return run
    try:
        answer = json.loads(out)
        if engine == "partwise":
            counted = {p["values"]["fiscal_period"]: p for p in answer["partitions"]}
        else:
            counted, run["inside"] = answer["periods"], answer["seconds"]
        counts = {period: {name: of[name] for name in COUNTS} for period, of in counted.items()}
    except (ValueError, KeyError, TypeError) as error:
        run["wrong"] = f"{engine} printed no counts that can be read: {error!r}"
        return run
    truth = arguments.truth["periods"]
    for period in sorted(truth.keys() | counts.keys()):
        if truth.get(period) != counts.get(period):
            run["wrong"] = f"{engine}: {period} is {truth.get(period)}, but was counted as {counts.get(period)}"
    return run


def warm(directory):
    """Reads every file once, so that no engine pays for the disk on behalf of the next; the bytes."""
    total = 0
    for folder, _, names in os.walk(directory):
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                while piece := file.read(4 * MIB):
                    total += len(piece)
    return total


def machine(binary):
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    versions = [f"python {platform.python_version()}"]
    for package in ["duckdb", "polars", "deltalake", "pyarrow"]:
        try:
            versions.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            versions.append(f"{package} missing")
    if binary:
        said = subprocess.run([binary, "--version"], capture_output=True, text=True, check=False).stdout.strip()
        versions.insert(0, said or "partwise of unknown version")
    load = " ".join(f"{x:.2f}" for x in os.getloadavg())
    return f"machine: {cores} cores, {memory:.1f} GiB, {platform.system()} {platform.machine()}, load {load}; {', '.join(versions)}"


def report(runs, engines):
    """One line an engine; all of its runs count."""
    print(f"{'engine':<10}{'runs':>5}{'min s':>9}{'median s':>10}{'max s':>9}{'query s':>9}{'cpu s':>9}{'peak MiB':>10}"
          f"{'x partwise':>12}{'partwise/it':>13}")
    median = lambda values: statistics.median(values) if values else None
    good = {e: [r for r in runs if r["engine"] == e and r["wrong"] is None] for e in engines}
    ours = median([r["wall"] for r in good.get("partwise", [])])
    for engine in engines:
        of = good[engine]
        if not of:
            print(f"{engine:<10}  no run gave a right answer")
            continue
        walls = [r["wall"] for r in of]
        inside = median([r["inside"] for r in of if "inside" in r])
        cpu = median([r["user"] + r["system"] for r in of])
        peak = max(r["peak_bytes"] for r in of) / MIB
        theirs = median(walls)
        ratios = (f"{theirs / ours:.2f}", f"{ours / theirs:.2f}") if ours else ("", "")
        print(f"{engine:<10}{len(of):>5}{min(walls):>9.2f}{theirs:>10.2f}{max(walls):>9.2f}"
              f"{'' if inside is None else format(inside, '.2f'):>9}{cpu:>9.2f}{peak:>10.0f}"
              f"{ratios[0]:>12}{ratios[1]:>13}")


def compare(arguments):
    directory = os.path.abspath(arguments.dir)
    try:
        with open(os.path.join(directory, "truth.json")) as file:
            arguments.truth = json.load(file)
    except OSError as error:
        sys.exit(f"{directory} holds no data to compare ({error.strerror}); make it with: run.py make {arguments.dir} --rows N")
    engines = [name for name in ENGINES if name in arguments.engines.split(",")]
    if unknown := set(arguments.engines.split(",")) - set(ENGINES):
        sys.exit(f"no such engine: {', '.join(sorted(unknown))}; there are {', '.join(ENGINES)}")
    if "partwise" in engines:
        arguments.partwise = shutil.which(arguments.partwise or "partwise")
        if not arguments.partwise:
            sys.exit("no partwise that can be run; give --partwise BINARY, or put it into PATH")
    else:
        arguments.partwise = None
    limit = size(arguments.memory_limit) if arguments.memory_limit else None
    runs = []
    print(machine(arguments.partwise))
    print(f"data: {arguments.truth['rows']:,} rows a side, {warm(directory) / MIB:.0f} MiB of files, read once beforehand")
    with tempfile.TemporaryDirectory() as state:
        with open(os.path.join(state, "config.toml"), "w"):
            pass
        for round_ in range(1, arguments.repeat + 1):
            for engine in engines:
                run = measure(engine, directory, arguments, state)
                run["round"] = round_
                runs.append(run)
                print(f"  {round_}/{arguments.repeat} {engine:<9}{run['wall']:8.2f} s {run['user']:8.2f} user"
                      f" {run['system']:6.2f} system {run['peak_bytes'] / MIB:7.0f} MiB"
                      f"  {'counts are right' if run['wrong'] is None else 'WRONG'}", flush=True)
    print()
    report(runs, engines)
    failed = False
    for wrong in dict.fromkeys(r["wrong"] for r in runs if r["wrong"]):
        failed = True
        print(f"WRONG: {wrong}")
    if limit is not None and "partwise" in engines:
        peak = max(r["peak_bytes"] for r in runs if r["engine"] == "partwise") / MIB
        allowed = limit / MIB + SLACK_MIB
        kept = peak <= allowed
        failed |= not kept
        print(f"memory: partwise peaked at {peak:.0f} MiB under a limit of {limit / MIB:.0f} MiB"
              f" (+ {SLACK_MIB} MiB = {allowed:.0f} MiB): {'kept' if kept else 'EXCEEDED'}")
    if arguments.out:
        with open(arguments.out, "w") as file:
            json.dump({"truth": arguments.truth, "memory_limit": limit, "runs": runs}, file, indent=1)
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description="The restatement diff, measured against DuckDB and polars.")
    commands = parser.add_subparsers(dest="command", required=True)
    make = commands.add_parser("make", help="make a table, a restatement of it, and the truth about both")
    make.add_argument("dir")
    make.add_argument("--rows", type=positive, required=True, help="rows of the table")
    make.add_argument("--updated", type=float, default=0.05, help="share of the rows (default %(default)s)")
    make.add_argument("--inserted", type=float, default=0.02, help="share of the rows (default %(default)s)")
    make.add_argument("--deleted", type=float, default=0.02, help="share of the rows (default %(default)s)")
    make.add_argument("--seed", type=int, default=1)
    run = commands.add_parser("run", help="classify with every engine and compare")
    run.add_argument("dir")
    run.add_argument("--partwise", metavar="BINARY", help="default: partwise from PATH")
    run.add_argument("--memory-limit", metavar="SIZE", help="PARTWISE_MEMORY_LIMIT for partwise: 1GiB, or bytes")
    run.add_argument("--repeat", type=positive, default=3, help="rounds of all engines (default %(default)s)")
    run.add_argument("--engines", default=",".join(ENGINES), help="some of %(default)s")
    run.add_argument("--out", metavar="FILE", help="write every run as JSON")
    arguments = parser.parse_args()
    if arguments.command == "run":
        if arguments.memory_limit:
            try:
                size(arguments.memory_limit)
            except argparse.ArgumentTypeError as error:
                parser.error(f"--memory-limit: {error}")
        return compare(arguments)
    import data

    data.make(arguments.dir, arguments.rows, arguments.updated, arguments.inserted, arguments.deleted, arguments.seed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
