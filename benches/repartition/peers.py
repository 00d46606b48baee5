"""The same switch with what an engineer would use instead, one job a process.

usage: peers.py duckdb TABLE OUT     partitioned COPY into OUT, snappy, one file a partition
       peers.py deltars TABLE OUT    delta-rs overwrites TABLE with other partition columns
       peers.py count FILE FOLDER    rows of all Parquet files below FOLDER, as JSON
"""
import json
import sys

job, table, out = sys.argv[1:4]
if job == "duckdb":
    import duckdb
    from deltalake import DeltaTable

    # One partition's rows may come from several threads: the files are then several too.
    files = DeltaTable(table).file_uris()
    session = duckdb.connect()
    session.execute(f"copy (select * from read_parquet({files!r}, hive_partitioning=true, hive_types={{'period': 'VARCHAR'}})) "
                    f"to '{out}' (format parquet, compression snappy, partition_by (company))")
elif job == "deltars":
    from deltalake import DeltaTable, WriterProperties, write_deltalake

    rows = DeltaTable(table).to_pyarrow_dataset().scanner(batch_size=131072).to_reader()
    write_deltalake(table, rows, mode="overwrite", schema_mode="overwrite", partition_by=["company"],
                    writer_properties=WriterProperties(compression="SNAPPY"))
elif job == "count":
    import glob
    import os

    import pyarrow.parquet as pq

    # In the table's own folder the old files lie too: only those by company count.
    found = [path for path in glob.glob(f"{out}/**/*.parquet", recursive=True) if "period=" not in path and "_delta_log" not in path]
    print(json.dumps({"rows": sum(pq.ParquetFile(path).metadata.num_rows for path in found if os.path.getsize(path))}))
else:
    sys.exit(__doc__)
