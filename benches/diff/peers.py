"""The same classification with DuckDB and polars, one a process: peers.py duckdb|polars DIR.

Prints {"periods": {period: counts}, "seconds": S}; the seconds leave out starting Python and importing.
"""
import json
import os
import sys
import time

KEY = ["company_code", "fiscal_period", "doc_number"]
REST = ["gl_account", "amount", "quantity", "currency", "posting_date", "status", "updated_at"]
COUNTS = ["before", "source", "inserted", "updated", "unchanged", "deleted"]


def with_duckdb(table, staging):
    import duckdb
    from deltalake import DeltaTable

    started = time.monotonic()
    files = DeltaTable(table).file_uris()
    on = " AND ".join(f"t.{c} = s.{c}" for c in KEY)
    same = " AND ".join(f"t.{c} IS NOT DISTINCT FROM s.{c}" for c in REST)
    both = "t.doc_number IS NOT NULL AND s.doc_number IS NOT NULL"
    rows = duckdb.connect().execute(
        f"""SELECT coalesce(t.fiscal_period, s.fiscal_period) AS period,
                   count(t.doc_number), count(s.doc_number),
                   count(*) FILTER (t.doc_number IS NULL),
                   count(*) FILTER ({both} AND NOT ({same})),
                   count(*) FILTER ({both} AND {same}),
                   count(*) FILTER (s.doc_number IS NULL)
            FROM read_parquet($table, hive_partitioning = true, hive_types = {{'fiscal_period': VARCHAR}}) t
            FULL JOIN read_parquet($staging) s ON {on}
            GROUP BY ALL""",
        {"table": files, "staging": os.path.join(staging, "*.parquet")},
    ).fetchall()
    return {period: dict(zip(COUNTS, counts)) for period, *counts in rows}, time.monotonic() - started


def with_polars(table, staging):
    import polars as pl

    started = time.monotonic()
    old = pl.scan_delta(table).with_columns(old=True)
    new = pl.scan_parquet(os.path.join(staging, "*.parquet")).with_columns(new=True)
    has_old, has_new = pl.col("old").is_not_null(), pl.col("new").is_not_null()
    same = pl.all_horizontal(pl.col(c).eq_missing(pl.col(f"{c}_new")) for c in REST)
    counts = dict(zip(COUNTS, [has_old, has_new, ~has_old, has_old & has_new & ~same, has_old & has_new & same, ~has_new]))
    rows = (
        old.join(new, on=KEY, how="full", coalesce=True, suffix="_new")
        .group_by("fiscal_period")
        .agg(**{name: of.sum() for name, of in counts.items()})
        .collect(engine="streaming")
        .to_dicts()
    )
    return {row.pop("fiscal_period"): row for row in rows}, time.monotonic() - started


if __name__ == "__main__":
    engine, directory = sys.argv[1:]
    run = {"duckdb": with_duckdb, "polars": with_polars}[engine]
    periods, seconds = run(os.path.join(directory, "table"), os.path.join(directory, "staging"))
    print(json.dumps({"periods": periods, "seconds": seconds}))
