//! MindIE tells of each token, and its own table shows that.

use crate::support::{Place, Sim, records};
use inferometer_store::texts_file::read_texts;

const CONFIG: &str = r#"{"ServerConfig": {"port": 1025, "httpsEnabled": false}, "BackendConfig": {
  "npuDeviceIds": [[0]],
  "ModelDeployConfig": {"maxSeqLen": 4096, "maxInputTokenLen": 2048, "ModelConfig": [
    {"modelName": "qwen", "modelWeightPath": "/data/qwen2.5-7b", "worldSize": 1, "npuMemSize": 14}]},
  "ScheduleConfig": {"maxPrefillBatchSize": 2, "maxBatchSize": 8}}}"#;

/// The first cells of a row of MindIE's table.
fn row(table: &str, name: &str) -> Vec<String> {
    let line = table.lines().find(|line| line.contains(name)).unwrap();
    let cells = line.split('|').map(|cell| cell.trim().to_owned());
    cells.skip(2).take(3).collect()
}

fn assert_told(place: &Place, run: &str) {
    let all = records(&place.path(run));
    let done = || all.iter().filter(|record| record.is_done());
    assert!(done().count() >= 24);
    for record in done() {
        let told = record.per_token.as_deref().expect("each token");
        assert_eq!(
            told.batch_size.len() as u32,
            record.output_tokens().unwrap()
        );
        assert_eq!(told.queue_wait_us.len(), told.batch_size.len());
    }
    let table = place.run(&["report", run, "--dialect", "mindie"]).stdout;
    let [_, most, _] = &row(&table, "PrefillBatchsize")[..] else {
        panic!("{table}")
    };
    assert!(["1", "2"].contains(&most.as_str()), "{table}");
    let most: u32 = row(&table, "DecoderBatchsize")[1].parse().unwrap();
    assert!((2..=8).contains(&most), "{table}");
    assert!(row(&table, "QueueWaitTime")[1].ends_with(" μs"), "{table}");
}

#[test]
fn batch_sizes_and_waits_reach_mindies_table_in_real_and_in_virtual_time() {
    let place = Place::new();
    place.write("config.json", CONFIG);
    let config = place.path("config.json").display().to_string();
    let load = "--concurrency 8 --requests 24 --input-tokens 64 --output-tokens 8";
    let load: Vec<&str> = load.split(' ').collect();
    let sim = Sim::scheduled(&["--mindie-config", &config, "--device", "910b4"]);
    let real = place.measure(&sim.url, &load);
    assert_told(&place, real.path.to_str().unwrap());
    let computed = ["run", "--sim-clock", "virtual", "--sim-device", "910b4"];
    let launch = ["--mindie-config", "config.json", "--out", "computed"];
    let command = [
        &computed[..],
        &load,
        &launch,
        &["--", "mindieservice_daemon"],
    ]
    .concat();
    assert_eq!(place.run(&command).code, Some(0));
    assert_told(&place, "computed");
}

#[test]
fn its_own_endpoints_are_measured_to_the_last_token() {
    let place = Place::new();
    place.write("config.json", CONFIG);
    let config = place.path("config.json").display().to_string();
    let sim = Sim::scheduled(&["--mindie-config", &config, "--device", "910b4"]);
    for path in [
        "/infer",
        "/generate_stream",
        "/v2/models/qwen/generate_stream",
    ] {
        let load = "--concurrency 2 --requests 6 --input-tokens 32 --output-tokens 6 --keep-text";
        for stream in [&[][..], &["--no-stream"]] {
            // Only the first tells the two apart by what is asked.
            if !stream.is_empty() && path != "/infer" {
                continue;
            }
            let load: Vec<&str> = load.split(' ').chain(stream.iter().copied()).collect();
            let run = place.measure(&format!("{}{path}", sim.url), &load);
            run.assert_all_ok(6);
            assert_eq!(run.api, "generate", "{path}");
            let told = (path != "/v2/models/qwen/generate_stream").then_some(36);
            assert_eq!(run.summary.tokens.output, told, "{path}");
            let texts = read_texts(&run.path.join("records/texts.jsonl")).unwrap();
            for (record, text) in run.records.iter().zip(texts.map(Result::unwrap)) {
                let chunks = if record.streamed { 6 } else { 0 };
                assert_eq!(record.chunks.len(), chunks, "{path}");
                // One word for each token, the last one's not twice.
                assert_eq!(
                    text.answer.split_whitespace().count(),
                    6,
                    "{path}: {text:?}"
                );
            }
        }
    }
}
