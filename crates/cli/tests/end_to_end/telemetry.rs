//! What a run tells of the cards and the engine beside its times: energy, cost, drafts.

use crate::support::{Place, Run, Sim};
use inferometer_core::server::SpeculationBasis;

/// A tool that shows one card at work and one that stands idle, in place of the driver's.
fn cards(place: &Place) -> String {
    let rows = "0, NVIDIA H100, 90, 60000, 81920, 400, 55\n1, NVIDIA H100, 0, 10, 81920, 60, 30";
    place.script("nvidia-smi", &format!("cat <<'ROWS'\n{rows}\nROWS"));
    let path = std::env::var("PATH").unwrap_or_default();
    format!("{}:{path}", place.path("bin").display())
}

/// The report as one line, wherever it was broken.
fn report(place: &Place, run: &Run, more: &[&str]) -> String {
    let folder = run.path.to_str().unwrap();
    let words = [&["report", folder, "--lang", "en"][..], more].concat();
    let text = place.run(&words).stdout;
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn measured_with_cards(place: &Place, options: &[&str]) -> Run {
    let (sim, path) = (Sim::scheduled(&[]), cards(place));
    let shape = [
        "--duration",
        "3s",
        "--concurrency",
        "2",
        "--output-tokens",
        "8",
    ];
    let options = [&shape[..], options].concat();
    place.measure_with(&sim.url, &options, |command| {
        command.env("PATH", path);
    })
}

#[test]
fn energy_is_of_the_cards_that_worked_and_says_how_much_was_sampled() {
    let place = Place::new();
    let run = measured_with_cards(&place, &[]);
    let server = run.summary.server.as_ref().expect("it was watched");
    let energy = server.energy.as_ref().expect("its cards tell their power");
    assert_eq!(energy.cards, [0]);
    assert!((energy.watts - 400.0).abs() < 1e-6, "{energy:?}");
    assert!((0.5..=1.0 + 1e-9).contains(&energy.coverage), "{energy:?}");
    let rate = run.summary.throughput.output_tokens_per_s.unwrap();
    let joules = energy.joules_per_output_token.unwrap();
    assert!((joules - 400.0 / rate).abs() < 1e-9 * joules);
    assert_eq!(run.summary.cost, None);
    let text = report(&place, &run, &[]);
    assert!(text.contains("400 W on cards 0"), "{text}");
    assert!(text.contains("J per output token"), "{text}");
}

#[test]
fn a_price_of_a_card_gives_what_tokens_and_requests_cost() {
    let place = Place::new();
    let options = [
        "--sim-clock",
        "virtual",
        "--requests",
        "60",
        "--output-tokens",
        "16",
        "--price-per-hour",
        "3.6",
        "--tag",
        "cards=2",
    ];
    let run = place.measure("", &options);
    let cost = run.summary.cost.expect("a price was given");
    assert_eq!((cost.price_per_hour, cost.cards), (3.6, 2.0));
    // Two cards cost 0.002 in a second.
    let rate = run.summary.throughput.output_tokens_per_s.unwrap();
    let expected = 2000.0 / rate;
    let found = cost.per_million_output_tokens.unwrap();
    assert!(
        (found - expected).abs() < 1e-9 * expected,
        "{found} {expected}"
    );
    let text = report(&place, &run, &["--price-per-hour", "7.2"]);
    assert!(text.contains("7.2 per hour × 2 cards"), "{text}");
    let refused = place.run(&["run", "--price-per-hour", "0"]);
    refused.assert_refused(&["above 0"]);
}

#[test]
fn drafts_of_the_engine_are_counted_over_what_is_measured() {
    let place = Place::new();
    let shape = [
        "--requests",
        "24",
        "--concurrency",
        "4",
        "--output-tokens",
        "48",
    ];
    let vllm = [
        "--",
        "vllm",
        "serve",
        "qwen2.5-7b",
        "--speculative-config",
        "{\"method\": \"ngram\", \"num_speculative_tokens\": 3}",
    ];
    let run = place.measure(&Sim::scheduled(&vllm).url, &shape);
    let server = run.summary.server.as_ref().expect("it was watched");
    let drafts = server.speculation.as_ref().expect("it drafts");
    assert_eq!(drafts.basis, SpeculationBasis::Counters);
    let length = drafts.accepted_length.unwrap();
    assert!((1.0..=4.0).contains(&length), "{drafts:?}");
    assert_eq!(drafts.by_position.len(), 3);
    assert!(drafts.by_position.is_sorted_by(|one, next| one >= next));
    let by_place: f64 = drafts.by_position.iter().sum();
    assert!((by_place - (length - 1.0)).abs() < 1e-9, "{drafts:?}");
    // No draft is longer than three.
    assert!(drafts.acceptance_rate.unwrap() >= (length - 1.0) / 3.0 - 1e-9);
    let text = report(&place, &run, &[]);
    assert!(text.contains("Speculative decoding"), "{text}");

    let plain = place.measure(&Sim::scheduled(&vllm[..4]).url, &shape);
    assert_eq!(plain.summary.server.unwrap().speculation, None);
    let sglang = "-- python -m sglang.launch_server --model-path qwen2.5-7b \
                  --speculative-algorithm NGRAM --speculative-num-draft-tokens 4";
    let sglang: Vec<&str> = sglang.split_whitespace().collect();
    let run = place.measure(&Sim::scheduled(&sglang).url, &shape);
    let drafts = run.summary.server.unwrap().speculation.expect("it says so");
    assert_eq!(drafts.basis, SpeculationBasis::Gauges);
    assert!(drafts.accepted_length.unwrap() > 1.0);
}
