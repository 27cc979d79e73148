use super::*;
use std::collections::BTreeMap;

fn read(toml: &str) -> Options {
    Options::from_toml(toml).unwrap()
}

fn resolved(toml: &str) -> Scenario {
    read(toml).resolve().unwrap()
}

fn refused(toml: &str) -> String {
    read(toml).resolve().unwrap_err().to_string()
}

#[test]
fn nothing_given_means_the_documented_defaults() {
    let scenario = resolved("[connection]\nurl = ['http://h:1']");
    assert_eq!(
        scenario.load.shape,
        Shape::Closed {
            concurrency: 8,
            stagger: Stagger::Auto
        }
    );
    assert_eq!(scenario.load.extent, Extent::Requests(200));
    assert_eq!(scenario.load.warmup, Warmup::Requests(8));
    assert_eq!(
        scenario.work.prompts,
        PromptSource::Synthetic(Synthetic {
            lengths: SyntheticLengths::Input(LengthSpec::fixed(256)),
            language: Language::En,
            prefix: None,
        })
    );
    assert_eq!(scenario.work.output, Output::Tokens(LengthSpec::fixed(128)));
    assert!(scenario.work.ignore_eos && scenario.work.cache_nonce && scenario.connection.stream);
}

#[test]
fn the_simulated_engine_gets_a_short_demonstration_and_a_server_no_simulated_card() {
    assert_eq!(resolved("").load.extent, Extent::Requests(90));
    let both = "[connection]\nurl = ['http://h:1']\nsim-device = 'h100'";
    assert!(refused(both).contains("a URL"));
}

#[test]
fn a_stored_scenario_resolves_to_itself() {
    let files = [
        "",
        "[load]\nrate = 5\narrival = 'gamma'\nburstiness = 0.5\nramp = 'linear'\nmax-concurrency = 4\nduration = '30s'",
        "[load]\nrate = 'inf'\nrequests = 10\nwarmup = '3s'\ndrain = '1s'\nstop-when = ['failures>20%']",
        "[load]\nsoak = '1h'\nstagger = 'none'",
        "[load]\ncancel = '2.5%@1.5s'",
        "[work]\nprompt = 'hi'\nmax-tokens = 5\nextra = '{\"top_k\":3}'\nstop = ['a']\ntemperature = 0.5",
        "[work]\ndata = 'p.txt'\n[objectives]\nslo = ['ttft=500ms', 'tpot.p99=50ms']\nattainment = 0.95",
        "[run]\nlabel = 'x'\ntag = ['a=b']\nseed = 7\n[connection]\nurl = ['http://h:1']\nstream = false\nworkers = 2",
        "[work]\ndata = 'a.json'\ndata-format = 'sharegpt'\nfilter = 'vllm'\nlimit = 9\nshuffle = true\nmin-prompt = '5chars'\nmax-prompt = 900\nskip-bad = true\ntokenizer = 'cl100k'",
        "[work]\ndata = 'q.jsonl'\nfield = 'input'\noutput-tokens = 'free'",
        "[work]\ndata = 't.jsonl'\ndata-format = 'mooncake'\nfrom = '1m'\nfor = '5m'",
        "[work]\ndata = 'c.json'\ndata-format = 'conversations'\nturns = 4\nthink = '2s'\nhistory = 'data'",
        "[work]\ndata = 'book.txt'\ninput-chars = 400\nask-chars = 200\ntemplate = 'zh'",
        "[work]\ndata = 'book.txt'\ndata-format = 'text'\ninput-tokens = 400",
        "[work]\nlength-pairs = '512:128=3,4096:64'",
        "[work]\nworkload = 'rag'\nprefix-tokens = 100\nprefix-groups = 8\nprefix-spread = 'zipf(1.2)'",
        "[work]\ncache-hit = 0.5\ntext = 'zh'\ntokenizer = 'o200k'\nas-token-ids = true",
        "[work]\nturns = 'uniform(2,5)'\nthink = '1s'\ninput-tokens = 'histogram(h.csv)'",
        "[load]\nspeed = 2.5\nmax-concurrency = 9\n[work]\ndata = 't.csv'\ndata-format = 'azure'",
        "[run]\nkeep-text = true\n[work]\ndata = 'q.jsonl'\n[objectives]\ncheck = 'gsm8k'",
        "[objectives]\ncheck = 'same-as:/runs/a'\n[work]\ncache-nonce = false",
        "[work]\nimages = 'n=uniform(1,3),size=512x512|64x64'",
        "[work]\nvideo = 'n=1,frames=uniform(8,16),size=640x360|64x64,fps=30'",
        "[work]\naudio = 'n=1,seconds=uniform(5,30)'\ncache-nonce = false\nprompt = 'hear'",
        "[connection]\napi = 'transcriptions'\n[work]\naudio = 'n=1,seconds=8'",
        "[connection]\napi = 'transcriptions'\n[work]\ndata = 's.jsonl'\nmax-tokens = 90",
        "[work]\ntools = '/t.json'",
        "[work]\njson-schema = '/s.json'",
        "[objectives]\nthreshold = ['failures-warn=0.05']",
    ];
    for file in files {
        let scenario = resolved(file);
        let again = read(&scenario.options().to_toml()).resolve().unwrap();
        assert_eq!(again, scenario, "{file}");
    }
}

#[test]
fn flags_win_over_the_file_and_silence_its_alternatives() {
    let file = read("[load]\nconcurrency = 4\nrequests = 9\n[work]\ninput-tokens = 5");
    let flags = read("[load]\nrate = 3\nduration = '2s'\n[work]\nprompt = 'hi'");
    let scenario = flags.over(file).resolve().unwrap();
    assert!(matches!(
        scenario.load.shape,
        Shape::Open {
            rate: Rate(3.0),
            ..
        }
    ));
    assert_eq!(scenario.load.extent.requests(), None);
    assert_eq!(scenario.work.prompts, PromptSource::Text("hi".into()));
}

#[test]
fn what_does_not_go_together_is_named() {
    assert!(refused("[load]\nrate = 3\nconcurrency = 4").contains("--max-concurrency"));
    assert!(refused("[load]\nburstiness = 3").contains("--rate"));
    assert!(refused("[load]\nrate = 'inf'\nduration = '3s'").contains("--requests"));
    assert!(refused("[load]\nstop-when = ['slo-missed']").contains("--slo"));
    assert!(refused("[objectives]\nattainment = 0.9").contains("--slo"));
    assert!(refused("[objectives]\nslo = ['job=30s']").contains("--turns"));
    let stops =
        "[load]\nstop-when = ['slo-missed']\n[work]\nturns = 3\n[objectives]\nslo = ['job=30s']";
    assert!(refused(stops).contains("--slo ttft=500ms"));
    assert!(refused("[load]\nwarmup = 4294967295").contains("--warmup 4294967295"));
    assert!(refused("[connection]\nheader-names = ['X-Tenant']").contains("--header X-Tenant="));
}

#[test]
fn an_option_that_the_work_cannot_follow_is_refused_never_ignored() {
    for (work, expected) in [
        ("shuffle = true", "--shuffle needs --data"),
        ("prompt = 'hi'\ndata = 'f'", "exclude"),
        ("data = 'f'\ninput-tokens = 5", "--min-prompt"),
        ("data = 'f'\nthink = '1s'", "--data-format conversations"),
        ("data = 'f'\ndata-format = 'custom'\nfrom = '1s'", "a trace"),
        ("data = 'f'\nworkload = 'chat'", "synthetic"),
        ("data = 'f'\ncache-nonce = true", "synthetic"),
        ("data = 'f'\nmin-prompt = 9\nmax-prompt = 8", "--max-prompt"),
        ("history = 'data'\nturns = 3", "server's"),
        ("text = 'zh'", "--tokenizer"),
        ("prompt = 'hi'\ntext = 'zh'", "--text needs"),
        ("data = 'f'\ntext = 'zh'", "--text needs"),
        ("prompt = 'hi'\ntemplate = 'en'", "--template and --prompt"),
        (
            "data = 'f'\ndata-format = 'sharegpt'\nfield = 'x'",
            "--field needs another format",
        ),
        ("as-token-ids = true", "--tokenizer"),
        ("cache-hit = 1.0", "below 1"),
        ("prefix-groups = 3", "--prefix-tokens"),
        ("output-tokens = 'data'", "--data"),
        ("length-pairs = '5:6'\nmax-tokens = 6", "pairs say both"),
        (
            "input-tokens = 'normal(5,1)'\nask-chars = 6",
            "give a number",
        ),
    ] {
        let message = refused(&format!("[work]\n{work}"));
        assert!(message.contains(expected), "{work}: {message}");
    }
    assert!(refused("[load]\nspeed = 2").contains("a trace"));
    let trace = "[work]\ndata = 'f'\ndata-format = 'azure'\n[load]\n";
    assert!(refused(&format!("{trace}arrival = 'constant'")).contains("own times"));
}

#[test]
fn a_trace_is_replayed_to_its_end_unless_another_load_is_asked_for() {
    let trace = "[work]\ndata = 'f'\ndata-format = 'azure'\n[load]\n";
    let replayed = resolved(trace).load;
    assert!(matches!(replayed.shape, Shape::Replay { speed: 1.0, .. }));
    assert_eq!(replayed.extent, Extent::All);
    let closed = resolved(&format!("{trace}concurrency = 4")).load;
    assert!(matches!(closed.shape, Shape::Closed { .. }));
    assert_eq!(closed.extent, Extent::Requests(90));
}

#[test]
fn another_source_of_prompts_silences_the_one_below() {
    let file = read("[work]\ndata = 'f'\nshuffle = true\nlimit = 3\ntemperature = 0.5");
    let flags = read("[work]\ninput-tokens = 9");
    let work = flags.over(file).resolve().unwrap().work;
    assert!(matches!(work.prompts, PromptSource::Synthetic(_)));
    assert_eq!(work.temperature, Some(0.5));
    let file = read("[work]\ndata = 'f'\nshuffle = true");
    let work = read("[work]\nlimit = 9").over(file).resolve().unwrap().work;
    let PromptSource::Data(data) = work.prompts else {
        panic!("the data stay the source");
    };
    assert!(data.shuffle && data.limit == Some(9));
}

#[test]
fn rates_that_no_clock_can_follow_are_refused_with_what_is_possible() {
    for (file, expected) in [
        (
            "rate = 1e-20",
            "--rate 1e-20 is not possible: give arrivals",
        ),
        ("rate = 1e10", "or inf"),
        ("rate = 5\nburstiness = 1e-9", "--burstiness 1e-9"),
        ("rate = 5\nburstiness = 1e9", "from 0.001"),
        ("rate = 5\nramp = 'linear'\nramp-from = 1e-9", "--ramp-from"),
    ] {
        let message = refused(&format!("[load]\n{file}"));
        assert!(message.contains(expected), "{file}: {message}");
    }
    resolved("[load]\nrate = 1e-6\nramp = 'exponential'");
    resolved("[load]\nrate = 'inf'\nrequests = 5");
}

#[test]
fn several_answers_for_one_request_are_refused() {
    let message = refused("[work]\nextra = '{\"n\":2}'");
    assert!(
        message.contains("--extra n") && message.contains("one answer"),
        "{message}"
    );
    resolved("[work]\nextra = '{\"n\":1}'");
}

#[test]
fn impossible_values_say_what_is_possible() {
    for (file, expected) in [
        ("[load]\nconcurrency = 0", "whole number from 1"),
        ("[load]\nconcurrency = -3", "whole number from 1"),
        ("[load]\nrate = 0", "above 0"),
        ("[load]\nrate = -1.5", "above 0"),
        ("[load]\nduration = '5'", "200ms"),
        ("[load]\nvelocity = 5", "velocity"),
        ("[work]\nextra = '[1]'", "JSON object"),
        ("[load]\nstop-when = ['throughput-falling']", "failures>20%"),
    ] {
        let message = Options::from_toml(file).unwrap_err().to_string();
        assert!(message.contains(expected), "{file}: {message}");
        assert!(!message.contains('\n'), "{message}");
    }
}

#[test]
fn what_is_typed_is_answered_with_what_that_option_takes() {
    let refused = |value: &str| {
        let typed = clap::Command::new("run").no_binary_name(true);
        let typed = <ConnectionOptions as clap::Args>::augment_args(typed);
        let typed = <WorkOptions as clap::Args>::augment_args(typed);
        let read = typed.try_get_matches_from([value]);
        read.unwrap_err().to_string()
    };
    for (typed, takes) in [
        ("--raw-body=[1]", r#"'{"text": "{prompt}"}'"#),
        ("--extra=[1]", "top_k"),
        ("--images=n=0", "n from 1 to 64"),
        ("--video=n=0", "n from 1 to 16"),
        ("--audio=n=17", "n from 1 to 16"),
    ] {
        let said = refused(typed);
        assert!(said.contains(takes), "{typed}: {said}");
    }
}

/// Values for every option, some of them at odds with one another.
const VALUES: &[(&str, &[&str])] = &[
    ("run.label", &["'a'", "'ö # \"quoted\"'"]),
    ("run.tag", &["['engine=vllm', 'cards=2']"]),
    ("run.seed", &["0", "18446744073709551615"]),
    ("run.keep-text", &["true"]),
    ("run.price-per-hour", &["2.5"]),
    (
        "connection.url",
        &["['http://h:1']", "['http://h:1', 'https://i/v1']"],
    ),
    ("connection.sim-model", &["'qwen2.5-7b'"]),
    ("connection.sim-device", &["'h100'"]),
    ("connection.sim-clock", &["'real'", "'virtual'"]),
    (
        "connection.api",
        &[
            "'auto'",
            "'chat'",
            "'embeddings'",
            "'rerank'",
            "'messages'",
            "'transcriptions'",
            "'raw'",
        ],
    ),
    ("connection.raw-body", &["'{\"a\":\"{prompt}\"}'"]),
    ("connection.raw-text", &["'a.0.b'"]),
    ("connection.raw-tokens", &["'n'"]),
    ("connection.raw-end", &["'done'"]),
    (
        "connection.model",
        &["'m'", "'base=2,a=1'", "'zipf(1.1):base,a,b'"],
    ),
    ("connection.stream", &["true", "false"]),
    ("connection.header-names", &["['x-a']"]),
    ("connection.api-key-env", &["'KEY'"]),
    ("connection.api-key-file", &["'key.txt'"]),
    ("connection.ca", &["'ca.pem'"]),
    ("connection.client-cert", &["'c.pem'"]),
    ("connection.client-key", &["'k.pem'"]),
    ("connection.insecure", &["true", "false"]),
    ("connection.proxy", &["'http://p:1'"]),
    ("connection.connect-timeout", &["'3s'"]),
    ("connection.read-timeout", &["'1m'"]),
    ("connection.request-timeout", &["'90s'"]),
    ("connection.give-up-after", &["'5s'"]),
    (
        "connection.server-metrics",
        &["'off'", "'auto'", "'http://h:2/metrics'"],
    ),
    ("connection.server-traces", &["'127.0.0.1:4318'"]),
    ("connection.profile", &["true", "false"]),
    (
        "connection.source-address",
        &["['10.0.0.1']", "['10.0.0.1', 'fe80::1']"],
    ),
    ("connection.workers", &["1", "7"]),
    ("load.cancel", &["'2.5%@1.5s'"]),
    ("work.block-tokens", &["16", "512"]),
    ("work.images", &["'n=uniform(1,3),size=512x512|64x64'"]),
    (
        "work.video",
        &["'n=1,frames=16,size=640x360|1280x720,fps=4'"],
    ),
    ("work.audio", &["'n=1,seconds=uniform(5,30)'"]),
    ("load.concurrency", &["1", "64"]),
    ("load.rate", &["0.5", "'inf'"]),
    ("load.arrival", &["'constant'", "'poisson'", "'gamma'"]),
    ("load.burstiness", &["0.25"]),
    ("load.stagger", &["'auto'", "'none'", "'250ms'"]),
    ("load.ramp", &["'linear'", "'exponential'"]),
    ("load.ramp-from", &["0.1"]),
    ("load.ramp-over", &["'30s'"]),
    ("load.speed", &["2.5"]),
    ("load.max-concurrency", &["9"]),
    ("load.requests", &["1", "500"]),
    ("load.duration", &["'10s'"]),
    ("load.warmup", &["0", "16", "'2s'", "'none'"]),
    ("load.hold", &["'auto'", "'none'"]),
    ("load.drain", &["'5s'"]),
    ("load.soak", &["'1h'"]),
    ("load.stop-when", &["['failures>20%']", "['slo-missed']"]),
    ("load.until", &["'ci=5%'"]),
    ("work.prompt", &["'hi'"]),
    ("work.data", &["'rows.jsonl'", "'hf://a/b/c.json'"]),
    (
        "work.data-format",
        &["'auto'", "'sharegpt'", "'mooncake'", "'alpaca'"],
    ),
    ("work.field", &["'q'"]),
    ("work.filter", &["'vllm'"]),
    ("work.limit", &["10"]),
    ("work.shuffle", &["true", "false"]),
    ("work.min-prompt", &["3", "'5chars'"]),
    ("work.max-prompt", &["900"]),
    ("work.skip-bad", &["true"]),
    ("work.from", &["'1m'"]),
    ("work.for", &["'5m'"]),
    (
        "work.input-tokens",
        &["512", "'uniform(256,1024)'", "'normal(512,100)'"],
    ),
    (
        "work.output-tokens",
        &["128", "'lognormal(100,50)'", "'free'", "'data'"],
    ),
    ("work.length-pairs", &["'512:128=3, 4096:32'"]),
    ("work.workload", &["'chat'", "'rag'", "'code'"]),
    ("work.text", &["'en'", "'zh'"]),
    ("work.prefix-tokens", &["100"]),
    ("work.prefix-groups", &["4"]),
    ("work.prefix-spread", &["'uniform'", "'zipf(1.1)'"]),
    ("work.cache-hit", &["0.5"]),
    ("work.batch-size", &["1", "32"]),
    ("work.turns", &["3", "'uniform(2,5)'"]),
    ("work.think", &["'2s'"]),
    ("work.history", &["'server'", "'data'"]),
    ("work.template", &["'en'", "'t.txt'"]),
    ("work.input-chars", &["800"]),
    ("work.ask-chars", &["400"]),
    (
        "work.tokenizer",
        &["'cl100k'", "'bytes'", "'tokenizer.json'"],
    ),
    ("work.as-token-ids", &["true"]),
    ("work.max-tokens", &["64"]),
    ("work.min-tokens", &["2"]),
    ("work.ignore-eos", &["true", "false"]),
    ("work.temperature", &["0.7"]),
    ("work.top-p", &["0.9"]),
    ("work.stop", &["['a', 'b']"]),
    ("work.extra", &["'{\"top_k\":3}'"]),
    ("work.cache-nonce", &["true", "false"]),
    ("work.tools", &["'tools.json'"]),
    ("work.json-schema", &["'schema.json'"]),
    (
        "objectives.slo",
        &["['ttft=500ms', 'tpot.p99=50ms']", "['e2e.mean=10s']"],
    ),
    ("objectives.attainment", &["0.95"]),
    (
        "objectives.check",
        &["'gsm8k'", "'regex:[0-9]+'", "'same-as:run'"],
    ),
    ("objectives.threshold", &["['failures-warn=0.1']"]),
];

fn toml_of(chosen: &[(usize, usize)]) -> String {
    let values = chosen.iter().map(|&(option, value)| {
        let (name, values) = VALUES[option];
        (name, values[value % values.len()])
    });
    let lines = BTreeMap::from_iter(values).into_iter();
    lines
        .map(|(name, value)| format!("{name} = {value}\n"))
        .collect()
}

#[test]
fn every_value_of_the_round_trip_is_understood_and_every_option_is_in_it() {
    use clap::Args;
    let mut command = clap::Command::new("any");
    command = RunOptions::augment_args(command);
    command = ConnectionOptions::augment_args(command);
    command = LoadOptions::augment_args(command);
    command = WorkOptions::augment_args(command);
    command = ObjectiveOptions::augment_args(command);
    for argument in command.get_arguments() {
        let name = argument
            .get_long()
            .or(argument.get_value_names().map(|_| "url"));
        let name = name.unwrap_or_default();
        let known = VALUES.iter().any(|(known, _)| {
            known
                .split_once('.')
                .is_some_and(|(_, known)| known == name)
        });
        // Headers are stored by their names alone.
        let apart = name.starts_with("no-") || name == "header";
        assert!(known || apart, "{name} is not in VALUES");
    }
    for (option, (_, values)) in VALUES.iter().enumerate() {
        for value in 0..values.len() {
            read(&toml_of(&[(option, value)]));
        }
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_scenario_survives_being_stored(
        chosen in proptest::collection::vec((0..VALUES.len(), 0usize..8), 0..7),
    ) {
        // Values of headers are never stored; whoever repeats a run gives them again.
        let resolve = |mut options: Options| {
            let names = options.connection.header_names.take().unwrap_or_default();
            let empty = |key| Tag { key, value: String::new() };
            options.connection.header = Some(names.into_iter().map(empty).collect());
            options.resolve()
        };
        if let Ok(scenario) = resolve(read(&toml_of(&chosen))) {
            let text = scenario.options().to_toml();
            let again = resolve(read(&text)).map_err(|error| error.to_string());
            proptest::prop_assert_eq!(again, Ok(scenario), "{}", text);
        }
    }
}

#[test]
fn a_raw_body_without_a_place_for_the_limit_asks_for_no_length() {
    let raw = |body: &str, work: &str| {
        resolved(&format!(
            "[connection]\nurl = ['http://h:1/x']\napi = 'raw'\nraw-text = 'text'\nraw-body = '{body}'\n[work]\n{work}"
        ))
    };
    let free = raw(r#"{"q": "{prompt}"}"#, "input-tokens = 4");
    assert_eq!(free.work.output, Output::Free);
    let limited = r#"{"q": "{prompt}", "n": "{max_tokens}"}"#;
    let limited = raw(limited, "input-tokens = 4");
    assert_eq!(limited.work.output, Output::Tokens(LengthSpec::fixed(128)));
}
