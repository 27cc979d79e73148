import sys, pandas
frame = pandas.read_parquet(sys.argv[1]).set_index("index").sort_index()
full, bare = frame.loc[0], frame.loc[1]
assert list(full["chunk_ns"]) == [3000, 4000, 4000], full
assert list(full["chunk_tokens"]) == [1, 2, 1], full
assert list(full["same_read"]) == [False, False, True], full
assert list(full["bare_kind"]) == ["empty"], full
assert full["error"] == '显存不足 "oom"', full
assert full["outcome"] == "failed" and full["url"].startswith("http://"), full
assert len(bare["chunk_ns"]) == 0 and bare["chunk_tokens"] is None, bare
assert pandas.isna(bare["sent_ns"]) and bare["outcome"] == "cut", bare
