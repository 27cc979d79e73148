//! Results by path: databases, folders that tools leave, texts in other encodings, and files
//! that hold nothing.

use inferometer_import::{Stored, Tool, read_path};
use rusqlite::Connection;
use std::fs;
use std::path::Path;

const PANEL: &str = "============ Serving Benchmark Result ============\n\
    Successful requests:                     120\n\
    Benchmark duration (s):                  60.00\n\
    Total input tokens:                      24000\n\
    Total generated tokens:                  12000\n\
    Request throughput (req/s):              2.00\n\
    Output token throughput (tok/s):         200.00\n\
    Mean TTFT (ms):                          150.00\n\
    ==================================================\n";

/// A database as EvalScope writes it: `ok` answers of 1, 2, 3 … seconds and one failure.
fn database(path: &Path, ok: u32) {
    let connection = Connection::open(path).unwrap();
    connection
        .execute_batch(
            "CREATE TABLE result(request TEXT, start_time REAL, inter_token_latencies TEXT,
             success INTEGER, response_messages TEXT, completed_time REAL, latency REAL,
             first_chunk_latency REAL, prompt_tokens INTEGER, completion_tokens INTEGER,
             max_gpu_memory_cost REAL, time_per_output_token REAL, request_id TEXT,
             is_stream INTEGER)",
        )
        .unwrap();
    for at in 1..=ok {
        let seconds = f64::from(at);
        connection
            .execute(
                "INSERT INTO result VALUES ('{}', 100, '[]', 1, 'gASVCg==', ?1, ?2, 0.25, 40, 11,
                 0, 0.02, NULL, 1)",
                (100.0 + seconds, seconds),
            )
            .unwrap();
    }
    connection
        .execute(
            "INSERT INTO result(request, start_time, success, completed_time, is_stream)
             VALUES ('{}', 100, 0, 101, 1)",
            [],
        )
        .unwrap();
}

#[test]
fn evalscopes_database_is_folded_as_evalscope_does() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("parallel_8_number_12");
    fs::create_dir(&folder).unwrap();
    fs::write(
        folder.join("benchmark_args.json"),
        r#"{"model_id": "demo", "parallel": [8, 16]}"#,
    )
    .unwrap();
    database(&folder.join("benchmark_data.db"), 10);
    let imported = read_path(&folder.join("benchmark_data.db")).unwrap();
    let [found] = imported.results.as_slice() else {
        panic!("{imported:?}")
    };
    assert_eq!(
        (found.tool, found.label.as_deref()),
        (Tool::Evalscope, Some("demo"))
    );
    assert_eq!(found.point["concurrency"], 8);
    let summary = found.summary.as_ref().unwrap();
    let requests = summary.requests;
    assert_eq!(
        (requests.planned, requests.ok, requests.failed),
        (Some(12), Some(10), Some(1))
    );
    assert_eq!(summary.window_s, Some(10.0));
    let latency = summary.latency.e2e_ms.as_ref().unwrap();
    // By the nearest rank: ⌈10·0.5⌉ is the fifth.
    assert_eq!((latency.p50, latency.mean), (Some(5000.0), Some(5500.0)));
    assert_eq!(summary.latency.ttft_ms.as_ref().unwrap().p99, Some(250.0));
    assert_eq!(summary.throughput.output_tokens_per_s, Some(11.0));
    let codes: Vec<&str> = found.doubts.iter().map(|doubt| doubt.code.name()).collect();
    assert!(codes.contains(&"lost-requests"), "{codes:?}");
}

#[test]
fn a_database_of_something_else_is_named_as_such() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("other.db");
    Connection::open(&path)
        .unwrap()
        .execute_batch("CREATE TABLE people(name TEXT)")
        .unwrap();
    let error = read_path(&path).unwrap_err().to_string();
    assert!(error.contains("no table 'result'"), "{error}");
    let mut broken = fs::read(&path).unwrap();
    broken.truncate(200);
    fs::write(&path, broken).unwrap();
    assert!(read_path(&path).is_err());
}

/// A table of one row, and the bytes of its file.
fn small_database(path: &Path) -> Vec<u8> {
    let connection = Connection::open(path).unwrap();
    let table = "PRAGMA page_size = 512; CREATE TABLE result (success, latency); \
                 INSERT INTO result VALUES (1, 0.5)";
    connection.execute_batch(table).unwrap();
    drop(connection);
    fs::read(path).unwrap()
}

#[test]
fn pages_that_name_the_same_pages_again_and_again_are_not_gone_through() {
    const PAGE: usize = 512;
    const LEVELS: u32 = 17;
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("tree.db");
    let mut file = small_database(&path);
    // The second page has the row. Above it levels are put, in each of which all places lead to
    // the same page: 10 kB with 3^17 rows.
    let leaf = file[PAGE..2 * PAGE].to_vec();
    file.truncate(PAGE);
    for child in (3_u32..).take(LEVELS as usize) {
        let cell = [&child.to_be_bytes()[..], &[1]].concat();
        let (first, second) = (PAGE - cell.len(), PAGE - 2 * cell.len());
        let mut page = vec![0; PAGE];
        page[0] = 5;
        page[4] = 2;
        page[5..7].copy_from_slice(&(second as u16).to_be_bytes());
        page[8..12].copy_from_slice(&child.to_be_bytes());
        page[12..14].copy_from_slice(&(first as u16).to_be_bytes());
        page[14..16].copy_from_slice(&(second as u16).to_be_bytes());
        page[first..].copy_from_slice(&cell);
        page[second..first].copy_from_slice(&cell);
        file.extend(page);
    }
    file.extend(leaf);
    file[28..32].copy_from_slice(&(LEVELS + 2).to_be_bytes());
    fs::write(&path, file).unwrap();
    let error = read_path(&path).unwrap_err().to_string();
    assert!(
        error.contains("more steps than its size explains"),
        "{error}"
    );
}

#[test]
fn a_pipe_beside_a_database_is_not_waited_for() {
    for end in ["-wal", "-journal"] {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("piped.db");
        small_database(&path);
        let pipe = place.path().join(format!("piped.db{end}"));
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        let error = read_path(&path).unwrap_err().to_string();
        assert!(error.contains("not a regular file"), "{error}");
    }
}

#[test]
fn a_view_that_computes_without_end_is_not_asked() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("endless.db");
    Connection::open(&path)
        .unwrap()
        .execute_batch(
            "CREATE VIEW result AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) \
             SELECT 1 AS success, i AS latency FROM n",
        )
        .unwrap();
    let error = read_path(&path).unwrap_err().to_string();
    assert!(error.contains("no table 'result'"), "{error}");
}

#[test]
fn evalscopes_folder_gives_one_result_a_point() {
    let place = tempfile::tempdir().unwrap();
    for (parallel, rate) in [(4, 1.5), (8, 2.5)] {
        let folder = place
            .path()
            .join(format!("demo/parallel_{parallel}_number_40"));
        fs::create_dir_all(&folder).unwrap();
        let summary = format!(
            r#"{{"Time taken for tests (s)": 20.0, "Number of concurrency": {parallel},
                "Total requests": 40, "Succeed requests": 40, "Failed requests": 0,
                "Request throughput (req/s)": {rate}, "Average latency (s)": 1.2,
                "Average time to first token (s)": 0.2}}"#
        );
        fs::write(folder.join("benchmark_summary.json"), summary).unwrap();
        let percentiles = r#"[{"Percentiles": "50%", "TTFT (s)": 0.19, "Latency (s)": 1.1},
            {"Percentiles": "99%", "TTFT (s)": 0.4, "Latency (s)": 2.1}]"#;
        fs::write(folder.join("benchmark_percentile.json"), percentiles).unwrap();
        fs::write(folder.join("benchmark_args.json"), r#"{"number": 40}"#).unwrap();
        database(&folder.join("benchmark_data.db"), 40);
    }
    let imported = read_path(place.path()).unwrap();
    let points: Vec<i64> = imported
        .results
        .iter()
        .map(|found| found.point["concurrency"].as_i64().unwrap())
        .collect();
    assert_eq!(points, [4, 8]);
    let summary = imported.results[1].summary.as_ref().unwrap();
    assert_eq!(summary.latency.ttft_ms.as_ref().unwrap().p99, Some(400.0));
    assert_eq!(summary.throughput.requests_per_s, Some(2.5));
}

#[test]
fn mindies_folder_joins_both_tables() {
    let place = tempfile::tempdir().unwrap();
    let perf = "Metric,average,max,min,P75,P90,SLO_P90,P99,N\n\
        FirstTokenTime,80.5 ms,200 ms,40 ms,90 ms,100 ms,100 ms,150 ms,50\n\
        GenerateTime,2000 ms,3000 ms,1000 ms,2200 ms,2500 ms,2500 ms,2900 ms,50\n";
    let common = "Common Metric,Value\nTimeElapsed,25 s\nFailed,0( 0.0% )\nReturned,50( 100.0% )\n\
        Total,50[ 100.0% ]\nConcurrency,4\nThroughput,2.0 req/s\n";
    fs::write(place.path().join("result_perf_20250301.csv"), perf).unwrap();
    fs::write(place.path().join("result_common_20250301.csv"), common).unwrap();
    fs::write(place.path().join("req_to_data_map.json"), "{}").unwrap();
    let imported = read_path(place.path()).unwrap();
    let [found] = imported.results.as_slice() else {
        panic!("{imported:?}")
    };
    assert_eq!(found.tool, Tool::Mindie);
    let summary = found.summary.as_ref().unwrap();
    assert_eq!(summary.latency.ttft_ms.as_ref().unwrap().mean, Some(80.5));
    assert_eq!(summary.concurrency.configured, Some(4));
}

#[test]
fn windows_line_ends_and_encodings_are_read() {
    let place = tempfile::tempdir().unwrap();
    let crlf = format!("\u{feff}{}", PANEL.replace('\n', "\r\n"));
    let utf16 = |text: &str, bytes: fn(u16) -> [u8; 2]| -> Vec<u8> {
        text.encode_utf16().flat_map(bytes).collect()
    };
    for (name, content) in [
        ("bom.txt", crlf.clone().into_bytes()),
        ("little.txt", utf16(&crlf, u16::to_le_bytes)),
        ("big.txt", utf16(&crlf, u16::to_be_bytes)),
        (
            "gbk.txt",
            [b"\xb2\xe2\xca\xd4\n", PANEL.as_bytes()].concat(),
        ),
    ] {
        let path = place.path().join(name);
        fs::write(&path, content).unwrap();
        let imported = read_path(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(imported.results.len(), 1, "{name}");
        let summary = imported.results[0].summary.as_ref().unwrap();
        assert_eq!(summary.requests.ok, Some(120), "{name}");
    }
}

#[test]
fn files_without_results_say_what_was_looked_for() {
    let place = tempfile::tempdir().unwrap();
    for (name, content, expected) in [
        ("empty.txt", &b""[..], "is empty"),
        ("blank.txt", b"\xEF\xBB\xBF \r\n\n", "is empty"),
        (
            "prose.md",
            b"Nothing was measured today.\n",
            "no result of a known form; looked for",
        ),
        ("picture.png", b"\x89PNG\r\n\x1a\n\0\0\0", "is not text"),
        ("latin.txt", b"caf\xe9 9\n", "neither UTF-8"),
    ] {
        let path = place.path().join(name);
        fs::write(&path, content).unwrap();
        let error = read_path(&path).unwrap_err().to_string();
        assert!(
            error.contains(expected) && !error.contains('\n'),
            "{name}: {error}"
        );
    }
    assert!(
        read_path(&place.path().join("missing"))
            .unwrap_err()
            .to_string()
            .contains("cannot read")
    );
    let folder = tempfile::tempdir().unwrap();
    assert!(
        read_path(folder.path())
            .unwrap_err()
            .to_string()
            .contains("is empty")
    );
}

#[test]
fn a_stored_import_opens_as_it_was_and_nothing_is_overwritten() {
    let place = tempfile::tempdir().unwrap();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/import");
    for (at, entry) in fs::read_dir(fixtures).unwrap().enumerate() {
        let path = entry.unwrap().path();
        let imported = read_path(&path).unwrap();
        let stored = Stored::new(
            imported,
            path.display().to_string(),
            "2026-11-15T00:00:00Z".into(),
        );
        let folder = place.path().join(at.to_string());
        // What an import that was killed left there.
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("import.json.partial"), "{\"sch").unwrap();
        stored.write(&folder).unwrap();
        assert_eq!(Stored::open(&folder).unwrap(), stored, "{}", path.display());
        assert!(stored.write(&folder).is_err(), "it is there already");
    }
    let damaged = place.path().join("damaged");
    fs::create_dir(&damaged).unwrap();
    fs::write(
        damaged.join("import.json"),
        "{\"schema\": \"inferometer.import/1\"",
    )
    .unwrap();
    let error = Stored::open(&damaged).unwrap_err().to_string();
    assert!(
        error.contains("is damaged") && !error.contains('\n'),
        "{error}"
    );
}
