import sys, polars
frame = polars.read_parquet(sys.argv[1]).sort("index")
assert frame.schema["chunk_ns"] == polars.List(polars.Int64), frame.schema
assert frame.schema["chunk_tokens"] == polars.List(polars.Int32), frame.schema
full, bare = frame.to_dicts()
assert full["chunk_ns"] == [3000, 4000, 4000], full
assert full["same_read"] == [False, False, True], full
assert full["bare_kind"] == ["empty"], full
assert full["error"] == '显存不足 "oom"', full
assert bare["chunk_ns"] == [] and bare["chunk_tokens"] is None, bare
