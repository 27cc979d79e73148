import sys, duckdb
table = duckdb.sql(f"select * from read_parquet('{sys.argv[1]}') order by index")
types = dict(zip(table.columns, map(str, table.types)))
for name in ("chunk_ns", "bare_ns"):
    assert types[name] == "BIGINT[]", types
assert types["chunk_tokens"] == "INTEGER[]", types
assert types["same_read"] == "BOOLEAN[]", types
assert types["bare_kind"] == "VARCHAR[]", types
assert types["id"] == types["error"] == "VARCHAR", types
assert types["warmup"] == "BOOLEAN", types
full, bare = (dict(zip(table.columns, row)) for row in table.fetchall())
assert None not in full.values() or full["cached_tokens"] is None, full
assert full["chunk_ns"] == [3000, 4000, 4000], full
assert full["chunk_tokens"] == [1, 2, 1], full
assert full["same_read"] == [False, False, True], full
assert full["bare_kind"] == ["empty"], full
assert full["error"] == '显存不足 "oom"', full
assert (full["outcome"], full["phase"], full["class"]) == ("failed", "stream", "in-band-error")
assert (full["due_ns"], full["connect_ns"], full["cap_wait_ns"]) == (1000, 8, 7), full
assert (full["output_tokens"], full["token_source"], full["retokenized"]) == (3, "usage", 5)
assert bare["chunk_ns"] == [] and bare["chunk_tokens"] is None, bare
assert bare["sent_ns"] is None and bare["outcome"] == "cut", bare
ttft = duckdb.sql(
    f"select chunk_ns[1] - due_ns from read_parquet('{sys.argv[1]}') where len(chunk_ns) > 0"
)
assert ttft.fetchall() == [(2000,)]
meta = duckdb.sql(f"select key, value from parquet_kv_metadata('{sys.argv[1]}')").fetchall()
assert (b"inferometer.schema", b"inferometer.records/1") in meta, meta
