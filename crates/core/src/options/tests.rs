use super::*;
use std::collections::BTreeMap;
use std::sync::LazyLock;

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
    for file in include_str!("tests/scenarios.toml").split("\n\n") {
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
fn what_does_not_go_together_or_cannot_be_followed_is_refused_by_name_never_ignored() {
    let files = include_str!("tests/refused.toml").trim_end().split("\n\n");
    for file in files.skip(1) {
        let (_, expected) = file.rsplit_once("\n# ").unwrap();
        let message = refused(file);
        assert!(message.contains(expected), "{file}: {message}");
    }
    assert!(refused("[work]\nextra = '{\"n\":2}'").contains("one answer"));
    resolved("[work]\nextra = '{\"n\":1}'");
    resolved("[load]\nrate = 1e-6\nramp = 'exponential'");
    resolved("[load]\nrate = 'inf'\nrequests = 5");
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

/// An option by its section and name, and values for it.
type Values = (String, Vec<String>);

static VALUES: LazyLock<Vec<Values>> = LazyLock::new(|| {
    let text = include_str!("tests/values.toml");
    let sections: BTreeMap<String, BTreeMap<String, Vec<String>>> = toml::from_str(text).unwrap();
    let named = |(section, options): (String, BTreeMap<String, Vec<String>>)| {
        let options = options.into_iter();
        options.map(move |(name, values)| (format!("{section}.{name}"), values))
    };
    sections.into_iter().flat_map(named).collect()
});

fn toml_of(chosen: &[(usize, usize)]) -> String {
    let values = chosen.iter().map(|&(option, value)| {
        let (name, values) = &VALUES[option];
        (name, &values[value % values.len()])
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
        let name = argument.get_long();
        let name = name.or(argument.get_value_names().map(|_| "url"));
        let name = name.unwrap_or_default();
        let mut known = VALUES.iter().filter_map(|(known, _)| known.split_once('.'));
        // Headers are stored by their names alone.
        let apart = name.starts_with("no-") || name == "header";
        let is_known = known.any(|(_, known)| known == name);
        assert!(is_known || apart, "{name} is not in values.toml");
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
