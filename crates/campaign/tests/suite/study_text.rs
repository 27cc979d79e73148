//! Studies as they are written: what is read of them, and all that is wrong with one.

use crate::study::{SLOS, STUDY};
use inferometer_campaign::study::{Study, StudyError, template};
use inferometer_campaign::trial::Level;
use inferometer_catalog::engine::LaunchCommand;

/// The study with other texts in place of some.
fn changed<const N: usize>(changes: [(&str, &str); N]) -> Result<Study, String> {
    let text = changes.iter().fold(STUDY.to_owned(), |text, (old, new)| {
        assert!(text.contains(old), "{old}");
        text.replace(old, new)
    });
    let parsed: Result<Study, StudyError> = text.parse();
    parsed.map_err(|error| error.to_string())
}

#[test]
fn figures_that_must_be_kept_are_read_and_unknown_ones_refused() {
    let kept = |requirement: &str| {
        let goal = format!("[goal]\ncheck = \"gsm8k\"\nrequire = [\"{requirement}\"]\n");
        changed([("[goal]\n", &goal)])
    };
    let study = kept("check.score>=0.7").unwrap();
    assert_eq!(study.goal.requires[0].to_string(), "check.score>=0.7");
    assert!(study.goal.check.is_some());
    let refused = kept("chek.score>=0.7").unwrap_err();
    assert!(refused.contains("did you mean check.score"), "{refused}");
}

#[test]
fn what_is_wrong_is_named_with_a_remedy() {
    for (old, new, expected) in [
        (
            "max-num-seqs =",
            "max-nun-seqs =",
            "did you mean max-num-seqs",
        ),
        (
            "[16, 1024]",
            "[1024, 16]",
            "'max-num-seqs': the bounds [1024, 16] are reversed; write [16, 1024]",
        ),
        ("{ bool = true }", "{ bool = false }", "has no range"),
        ("{ bool = true }", "{ boole = true }", "write {"),
        (
            "{ bool = true }",
            "\"min(1, nothing)\"",
            "depends on 'nothing'",
        ),
        ("choice = [16, 32]", "choice = []", "at least one value"),
        (
            "concurrency = [64]",
            "capacity = true\nconcurrency = [1]",
            "both",
        ),
        ("concurrency = [64]", "", "[load] says nothing"),
        (
            "concurrency = [64]",
            "concurrency = [64]\nswiftness = 1",
            "swiftness",
        ),
        (
            "maximize = \"throughput.output_tokens_per_s\"",
            "",
            "has no objective",
        ),
        ("ttft.p99=1s", "ttft.p99=1", "not an objective"),
        ("trials = 30", "trials = 0", "between 1 and"),
        ("hours = 3", "hours = -1", "above 0"),
        ("hours = 3", "hour = 3", "hour"),
        (
            "[budget]",
            "[search]\nsearcher = \"magic\"\n[budget]",
            "tpe",
        ),
        (
            "[budget]",
            "[last-stage]\nrepeats = 1\n[budget]",
            "between 2 and 100",
        ),
        ("command = \"vllm", "command = \"'", "[engine] command"),
        (
            "[budget]",
            "[buget]",
            "there is no 'buget'; did you mean 'budget'?",
        ),
        (
            "trials = 30",
            "trails = 30",
            "there is no 'trails'; did you mean 'trials'?",
        ),
        (
            "concurrency = [64]",
            "concurency = [64]",
            "[load] there is no 'concurency'; did you mean 'concurrency'?",
        ),
        (
            SLOS,
            "slo = \"ttft.p99=1s\"",
            "line 16: \"ttft.p99=1s\" must be a list; write [\"ttft.p99=1s\"]",
        ),
        ("\"128\"", "\"128", "line 11: a text has no end"),
        (
            "concurrency = [64]",
            "concurrency = \"64\"",
            "line 13: \"64\" does not fit here; write one value",
        ),
        (
            "{ bool = true }",
            "true",
            "'enable-prefix-caching': write { int",
        ),
    ] {
        let message = changed([(old, new)]).unwrap_err();
        assert!(message.contains(expected), "{old} → {new}: {message}");
        assert!(!message.contains('\n'), "{message}");
        assert!(!message.contains("TOML parse error"), "{message}");
    }
    let space = STUDY.find("max-num-seqs").unwrap()..STUDY.find("[work]").unwrap();
    let empty = changed([(&STUDY[space], "")]).unwrap_err();
    assert!(empty.contains("the space is empty"), "{empty}");
    let load = ("concurrency = [64]", "capacity = true");
    let goal = ("throughput.output_tokens_per_s", "value");
    let capacity = changed([load, goal]).unwrap();
    assert_eq!(capacity.levels, [Level::Capacity]);
    let unlimited = changed([load, goal, (SLOS, "")]).unwrap_err();
    assert!(unlimited.contains("needs a limit"), "{unlimited}");
}

#[test]
fn a_misspelt_objective_is_refused_with_its_neighbour_before_anything_starts() {
    let said = |path| changed([("throughput.output_tokens_per_s", path)]);
    for slip in ["throughput.output_tok_per_s", "output_tokens_per_s"] {
        let said = said(slip).unwrap_err();
        assert!(said.contains(slip), "{said}");
        assert!(
            said.contains("did you mean throughput.output_tokens_per_s?"),
            "{said}"
        );
    }
    assert!(said("nonsense").unwrap_err().contains("summary.json"));
    for good in [
        "latency.ttft_ms.p99",
        "slo.goodput_per_s",
        "server.kv_use.max",
    ] {
        assert!(said(good).is_ok(), "{good}");
    }
}

#[test]
fn one_load_needs_no_brackets() {
    let study = changed([("concurrency = [64]", "concurrency = 96")]).unwrap();
    assert_eq!(study.levels, [Level::Concurrency(96)]);
}

#[test]
fn all_that_a_study_lacks_is_told_at_once() {
    let error = |text: &str| text.parse::<Study>().unwrap_err().to_string();
    let told = error("[engine]\nversion = \"0.11.0\"\n[goal]\n");
    for table in ["[engine] command", "[space]", "[load]", "[budget] trials"] {
        assert!(told.contains(table), "{table}: {told}");
    }
    assert!(!told.contains("[goal]") && told.contains("tune --init"));
    assert_eq!(told.lines().count(), 1);
}

#[test]
fn all_mistakes_of_a_study_are_told_at_once() {
    let told = changed([
        ("max-num-seqs =", "max-nun-seqs ="),
        ("choice = [16, 32]", "choice = []"),
        ("{ bool = true }", "{ boole = true }"),
        ("maximize", "maximise"),
        ("ttft.p99=1s", "ttft.p99=1"),
        ("[budget]", "[budgets]"),
        ("concurrency = [64]", "concurency = [64]"),
        ("[load]", "[last-stage]\nbest = 0\nrepeats = 1\n[load]"),
    ]);
    let told = told.unwrap_err();
    for mistake in [
        "'max-nun-seqs'; did you mean max-num-seqs",
        "'block-size': there is nothing to choose from",
        "'enable-prefix-caching': write {",
        "line 18: there is no 'maximise'; did you mean 'maximize'?",
        "[last-stage] best is 0",
        "[last-stage] repeats is 1",
        "line 19: 'ttft.p99=1' is not an objective",
        "there is no 'budgets'; did you mean 'budget'?",
        "there is no 'concurency'; did you mean 'concurrency'?",
    ] {
        assert!(told.contains(mistake), "{mistake}: {told}");
    }
    assert!(told.starts_with("9 mistakes: (1) line 18: "), "{told}");
    // A slip in the name of a table is not a missing table, and others may be missing.
    let told = changed([("[load]", "[laod]"), ("trials = 30", "")]).unwrap_err();
    assert!(told.starts_with("2 mistakes: (1) "), "{told}");
    assert!(told.contains("there is no 'laod'") && told.contains("[budget] trials"));
    assert!(!told.contains("[load] concurrency"), "{told}");
}

#[test]
fn keys_of_mindie_may_be_given_by_their_last_part() {
    let study = changed([
        (
            "vllm serve Qwen/Qwen2.5-7B-Instruct --port {port}\"",
            "mindieservice_daemon\"\nconfig = \"config.json\"",
        ),
        (
            "block-size = { choice = [16, 32] }",
            "maxPrefillBatchSize = { choice = [1, 50] }",
        ),
        ("max-num-seqs = { int = [16, 1024], log = true }\n", ""),
        (
            "max-num-batched-tokens = { int = [256, 16384], log = true }\n",
            "",
        ),
        ("enable-prefix-caching = { bool = true }\n", ""),
    ])
    .unwrap();
    let names: Vec<&str> = (study.space.dimensions().iter())
        .map(|dimension| dimension.name.as_str())
        .collect();
    assert_eq!(names, ["BackendConfig.ScheduleConfig.maxPrefillBatchSize"]);
}

#[test]
fn the_template_of_every_engine_is_a_study() {
    for line in [
        "vllm serve Qwen/Qwen2.5-7B-Instruct --max-num-seqs 64",
        "python -m sglang.launch_server --model-path m",
        "llama-server -m model.gguf",
        "./bin/mindieservice_daemon",
        "my-engine --say \"a b\"",
    ] {
        let command = LaunchCommand::parse_line(line).unwrap();
        let text = template(&command, command.engine.newest());
        let study: Study = text
            .parse()
            .unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(study.engine.command, command, "{text}");
        let mut dimensions = study.space.dimensions().iter();
        assert!(dimensions.all(|dimension| dimension.name != "max-num-seqs"));
        // Equal lengths would make one measurement of all fresh starts.
        let input = study.work.input_tokens.unwrap().to_string();
        let output = study.work.output_tokens.unwrap().to_string();
        assert!(input.contains('(') && output.contains('('), "{text}");
        assert!(study.load.requests.unwrap().0 >= 2000, "too few for a p99");
    }
}

#[test]
fn presets_and_derived_flags_make_a_space() {
    let study = changed([(
        "max-num-seqs = { int = [16, 1024], log = true }",
        "preset = \"vllm-scheduler\"\nmax-num-seqs = \"min(256, max-num-batched-tokens)\"",
    )]);
    let study = study.unwrap();
    assert_eq!(study.space.derived()[0].name, "max-num-seqs");
    let names: Vec<&str> = study
        .space
        .dimensions()
        .iter()
        .map(|d| d.name.as_str())
        .collect();
    assert_eq!(
        names,
        [
            "block-size",
            "enable-chunked-prefill",
            "enable-prefix-caching",
            "max-num-batched-tokens"
        ]
    );
}

#[test]
fn requests_follow_the_load_as_in_a_sweep() {
    let load = "concurrency = [64]            # or: capacity = true";
    let of = |text: &str| {
        let study = changed([(load, text)]);
        study.map(|study| study.load.requests.unwrap().0)
    };
    let six = "concurrency = [64]\nrequests = \"concurrency*6\"";
    assert_eq!(of(six), Ok(384));
    assert_eq!(of("concurrency = [8, 64]\nrequests = \"600\""), Ok(600));
    let several = "concurrency = [8, 64]\nrequests = \"concurrency*6\"";
    let refused = of(several).unwrap_err();
    assert!(refused.contains("give a number"), "{refused}");
    let none = of("concurrency = [64]\nrequests = \"concurrency*0\"").unwrap_err();
    assert!(none.contains("give a whole number"), "{none}");
}
