//! An engine that runs out of memory in virtual time ends as a real one does.

use crate::support::Place;
use serde_json::Value;

const CONFIG: &str = r#"{"ServerConfig": {"port": 1025, "httpsEnabled": false}, "BackendConfig": {
  "npuDeviceIds": [[0]],
  "ModelDeployConfig": {"maxSeqLen": 4096, "maxInputTokenLen": 2048, "ModelConfig": [
    {"modelName": "qwen", "modelWeightPath": "/data/qwen2.5-7b", "worldSize": 1, "npuMemSize": 14}]},
  "ScheduleConfig": {"maxPrefillBatchSize": 500, "maxBatchSize": 500}}}"#;

#[test]
fn a_card_that_is_too_small_for_a_step_kills_the_engine_in_its_own_words() {
    let place = Place::new();
    std::fs::write(place.path("config.json"), CONFIG).unwrap();
    let ended = place.run(&[
        "run",
        "--sim-clock",
        "virtual",
        "--sim-device",
        "910b4",
        "--concurrency",
        "400",
        "--requests",
        "800",
        "--input-tokens",
        "1512",
        "--output-tokens",
        "64",
        "--mindie-config",
        "config.json",
        "--format",
        "json",
        "--lang",
        "en",
        "--",
        "mindieservice_daemon",
    ]);
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    let found: Value = serde_json::from_str(&ended.stdout).unwrap();
    let doubts = found["doubts"].as_array().unwrap();
    let said = |code: &str| {
        let doubt = doubts.iter().find(|doubt| doubt["code"] == code);
        doubt.map(|doubt| doubt.to_string())
    };
    let died = said("server-died").expect("the engine died");
    assert!(died.contains("out-of-memory-under-load"), "{died}");
    assert!(died.contains("NPU out of memory"), "{died}");
    assert!(!ended.stdout.contains("--drain"), "{}", ended.stdout);
    assert_eq!(said("lost-requests"), None);
    let count = |name: &str| found["requests"][name].as_u64().unwrap();
    let accounted = count("ok") + count("failed") + count("cut") + count("unsent");
    assert_eq!(
        (count("planned"), accounted),
        (800, 800),
        "{}",
        found["requests"]
    );
}
