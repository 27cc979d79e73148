//! What is printed for clusters is what their API takes, and says what was typed.

use crate::support::Place;
use std::process::Command;

const POD: [&str; 6] = [
    "manifest",
    "kubernetes",
    "--image",
    "registry.example/inferometer:1",
    "--workers",
    "8",
];

fn manifest(place: &Place, options: &[&str], command: &[&str]) -> crate::support::Ended {
    let words = [&POD[..], options, &["--"], command].concat();
    place.run(&words)
}

#[test]
fn a_job_of_ranks_passes_the_schemas_of_kubernetes() {
    let place = Place::new();
    let file = place.write("load.toml", "[load]\nconcurrency = 64\n# \"quoted\"\n");
    let run = [
        "run",
        "http://vllm:8000",
        "--config",
        &file,
        "--label",
        "a: 'b' \"c\"",
    ];
    let options = [
        "--secret", "keys/KEY", "--claim", "results", "--name", "soak-1",
    ];
    let full = manifest(&place, &options, &run);
    assert_eq!(full.code, Some(0), "{full:?}");
    for said in [
        "completionMode: Indexed\n  completions: 8\n  parallelism: 8",
        "clusterIP: None",
        "value: \"soak-1-0.soak-1:7471\"",
        "value: \"8\"",
        "kind: ConfigMap",
        "concurrency = 64",
        "- \"/config/load.toml\"",
        "secretKeyRef",
        "- \"a: 'b' \\\"c\\\"\"",
    ] {
        assert!(full.stdout.contains(said), "{said}: {}", full.stdout);
    }
    let plain = manifest(&place, &[], &["run", "http://vllm:8000"]);
    let to_store = ["run", "http://vllm:8000", "--out", "s3://lab/nightly/"];
    let stored = manifest(&place, &["--env-secret", "store-keys"], &to_store);
    for said in [
        "envFrom:\n            - secretRef:\n                name: \"store-keys\"",
        "- \"s3://lab/nightly/\"",
    ] {
        assert!(stored.stdout.contains(said), "{said}: {}", stored.stdout);
    }
    assert!(
        !stored.stdout.contains("/results/inferometer\""),
        "one place is enough"
    );
    assert!(!plain.stdout.contains("ConfigMap") && !plain.stdout.contains("secret"));
    let python = inferometer_testing::python();
    for (name, printed) in [
        ("full.yaml", full.stdout),
        ("plain.yaml", plain.stdout),
        ("stored.yaml", stored.stdout),
    ] {
        let file = place.write(name, printed);
        let mut command = Command::new(&python);
        command.args(["-m", "kubernetes_validate", "--strict", &file]);
        let output = command.output();
        let output = output
            .ok()
            .filter(|output| !String::from_utf8_lossy(&output.stderr).contains("No module named"));
        let Some(output) = output else {
            let why = format!("{python} cannot import kubernetes_validate");
            return inferometer_testing::skipped(&why);
        };
        assert!(output.status.success(), "{output:?}");
    }
}

#[test]
fn what_pods_cannot_share_is_refused_in_one_line() {
    let place = Place::new();
    let refused = |options: &[&str], command: &[&str], said: &str| {
        manifest(&place, options, command).assert_refused(&[said]);
    };
    refused(&[], &["tune", "http://h:1"], "run, sweep or capacity");
    refused(
        &[],
        &["run", "http://h:1", "--concurency", "3"],
        "--concurency",
    );
    refused(
        &[],
        &["run", "http://h:1", "--rank", "3"],
        "--rank is the Job's",
    );
    refused(
        &[],
        &["run", "http://h:1", "--config", "absent.toml"],
        "absent.toml",
    );
    refused(
        &["--name", "Big_Name"],
        &["run", "http://h:1"],
        "lower-case",
    );
    refused(&["--secret", "keys"], &["run", "http://h:1"], "SECRET/KEY");
    refused(
        &[],
        &["run", "http://h:1", "--out", "s3://x"],
        "s3://BUCKET/PATH",
    );
    let one = [
        "manifest",
        "kubernetes",
        "--image",
        "i",
        "--workers",
        "1",
        "--",
        "run",
        "http://h:1",
    ];
    for secret in [
        &["run", "http://user:hidden@server:8000"][..],
        &["run", "http://server:8000", "--header", "X-Api-Key=hidden"],
        &[
            "run",
            "http://server:8000",
            "--extra",
            r#"{"auth":{"x":"hidden"}}"#,
        ],
    ] {
        let refused = manifest(&place, &[], secret);
        refused.assert_refused(&["--secret", "--env-secret"]);
        assert!(!refused.stderr.contains("hidden"), "{refused:?}");
    }
    place.run(&one).assert_refused(&["2 or more"]);
}
