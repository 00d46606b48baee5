#!/usr/bin/env python3
"""A switch of partition columns, 12 to 400 partitions, beside DuckDB and delta-rs: see ../README.md.

usage: run.py make DIR [--gib 1]
       run.py run DIR [--partwise BINARY] [--repeat 1] [--engines partwise,duckdb,deltars]
       run.py run DIR --twice DIR2        also: is partwise's peak of memory flat when the data doubles?

Exit codes: 0 every engine wrote every row and partwise's memory stayed below 2 GiB; 1 not so; 2 usage.
"""
# Nothing heavy is imported here: a child's peak of memory counts from its parent's size at the fork.
import argparse
import importlib.util
import json
import os
import shutil
import statistics
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


def measuring():
    """The benchmark of the diff, for its way of measuring; its file has the same name as this one."""
    spec = importlib.util.spec_from_file_location("diff_run", os.path.join(HERE, "..", "diff", "run.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


diff = measuring()
MIB, machine, timed, warm = diff.MIB, diff.machine, diff.timed, diff.warm

ENGINES = ["partwise", "duckdb", "deltars"]
LIMIT = 2 << 30
# Partwise's peak may grow by so much when the data doubles: the log, and noise.
FLAT = 1.15
COMPANIES = 400


def link_tree(source, target):
    """The same files under another root: what a run removes or adds there, the next run does not see."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target, copy_function=os.link)


def files_of(directory):
    found = [os.path.join(folder, name) for folder, _, names in os.walk(directory) for name in names]
    return [path for path in found if path.endswith(".parquet") and "_delta_log" not in path]


def measure(engine, directory, arguments, state):
    """One run of one engine on its own copy. `run["wrong"]` says what is wrong with it, or is None."""
    work = os.path.join(directory, "work")
    shutil.rmtree(work, ignore_errors=True)
    table = os.path.join(work, "table")
    link_tree(os.path.join(directory, "table"), table)
    environment = dict(os.environ)
    if engine == "partwise":
        environment["PARTWISE_STATE"] = state
        environment.pop("PARTWISE_MEMORY_LIMIT", None)
        command = [arguments.partwise, "plan", "repartition", table, "--by", "company", "--files-per-partition", "1",
                   "--apply", "--yes", "--json", "--config", os.path.join(state, "config.toml")]
    else:
        command = [sys.executable, os.path.join(HERE, "peers.py"), engine, table, os.path.join(work, "out")]
    before = set(files_of(table))
    run, out, err = timed(command, environment)
    run.update(engine=engine, wrong=None)
    if run["exit"] != 0:
        run["wrong"] = f"{engine} ended with {run['exit']}: {(err.strip() or out.strip() or 'no word').splitlines()[-1][:300]}"
    else:
        new = [path for path in files_of(work) if path not in before]
        run["files"], run["bytes"] = len(new), sum(os.path.getsize(path) for path in new)
        # Rows are counted in another process, so that this one stays small.
        counted, out, err = timed([sys.executable, os.path.join(HERE, "peers.py"), "count", *new[:1], os.path.commonpath(new)], environment)
        rows = json.loads(out)["rows"] if counted["exit"] == 0 else err
        if rows != arguments.truth["rows"]:
            run["wrong"] = f"{engine} wrote {rows} rows of {arguments.truth['rows']}"
    shutil.rmtree(work, ignore_errors=True)
    return run


def compare(arguments):
    directories = [os.path.abspath(arguments.dir)] + ([os.path.abspath(arguments.twice)] if arguments.twice else [])
    engines = [name for name in ENGINES if name in arguments.engines.split(",")]
    arguments.partwise = shutil.which(arguments.partwise or "partwise")
    if not arguments.partwise:
        sys.exit("no partwise that can be run; give --partwise BINARY, or put it into PATH")
    print(machine(arguments.partwise))
    failed, peaks = False, []
    with tempfile.TemporaryDirectory() as state:
        open(os.path.join(state, "config.toml"), "w").close()
        for number, directory in enumerate(directories):
            with open(os.path.join(directory, "truth.json")) as file:
                arguments.truth = json.load(file)
            print(f"data: {arguments.truth['rows']:,} rows, {warm(os.path.join(directory, 'table')) / MIB:,.0f} MiB in "
                  f"{arguments.truth['partitions']} partitions; to {COMPANIES}, one file each")
            runs = []
            for _ in range(arguments.repeat):
                for engine in engines if number == 0 else ["partwise"]:
                    run = measure(engine, directory, arguments, state)
                    runs.append(run)
                    said = run["wrong"] or f"{run['files']} files, {run['bytes'] / MIB:,.0f} MiB"
                    print(f"  {engine:<9}{run['wall']:9.2f} s {run['user'] + run['system']:9.2f} cpu s {run['peak_bytes'] / MIB:8.0f} MiB peak  {said}", flush=True)
            of = lambda engine: [run["wall"] for run in runs if run["engine"] == engine and not run["wrong"]]
            ours = statistics.median(of("partwise")) if of("partwise") else None
            for engine in engines[1:] if number == 0 else []:
                if ours and of(engine):
                    print(f"ratio: partwise takes {ours / statistics.median(of(engine)):.2f} times as long as {engine}")
            failed |= any(run["wrong"] for run in runs)
            peaks.append(max((run["peak_bytes"] for run in runs if run["engine"] == "partwise"), default=0))
    for peak in peaks:
        kept = peak < LIMIT
        failed |= not kept
        print(f"memory: partwise peaked at {peak / MIB:.0f} MiB: {'below' if kept else 'NOT below'} {LIMIT / MIB:.0f} MiB")
    if len(peaks) == 2 and peaks[0]:
        grown = peaks[1] / peaks[0]
        failed |= grown > FLAT
        print(f"memory: {grown:.2f} times as much for the larger table: {'flat' if grown <= FLAT else 'NOT flat'}")
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description="A switch of partition columns, beside DuckDB and delta-rs.")
    commands = parser.add_subparsers(dest="command", required=True)
    make = commands.add_parser("make", help="make a table of 12 partitions")
    make.add_argument("dir")
    make.add_argument("--gib", type=float, default=1.0, help="Parquet of about so many GiB (default %(default)s; 4 is the goal's size)")
    run = commands.add_parser("run", help="partition it by company with every engine")
    run.add_argument("dir")
    run.add_argument("--twice", metavar="DIR2", help="a table twice as large, for partwise's memory")
    run.add_argument("--partwise", metavar="BINARY", help="default: partwise from PATH")
    run.add_argument("--repeat", type=int, default=1)
    run.add_argument("--engines", default=",".join(ENGINES), help="some of %(default)s")
    arguments = parser.parse_args()
    if arguments.command == "run":
        return compare(arguments)
    import data

    data.make(arguments.dir, arguments.gib)
    return 0


if __name__ == "__main__":
    sys.exit(main())
