//! Predictions without any measurement of one's own, against published ones.

use inferometer_catalog::device::Device;
use inferometer_catalog::engine::EngineKind;
use inferometer_catalog::model::Model;
use inferometer_catalog::timing::{Profiles, Timing};
use inferometer_core::length::Distribution as Lengths;
use inferometer_plan::means::Means;
use inferometer_plan::predict::{Subject, simulate};
use inferometer_plan::validate::{
    Compared, Grouping, Half, NotPredicted, PrefillRow, Provenance, Quantity, group_errors,
    read_table, serve, validate,
};
use inferometer_plan::work::{Load, Start, Work};

const TABLE: &str = include_str!("../../../../fixtures/plan/silicon-sample.csv");

#[test]
fn predictions_of_published_rows_stay_as_good_as_they_were() {
    let rows = read_table(TABLE).unwrap();
    assert!(rows.iter().all(|row| row.half() == Half::HeldOut));
    let validation = validate(rows, None, Profiles::shipped());
    assert_eq!(validation.not_predicted, []);
    let is_apart = |one: &Compared| one.row.prefill.is_some();
    let (apart, together): (Vec<_>, Vec<_>) = validation.compared.into_iter().partition(is_apart);
    let is_trtllm = |one: &Compared| one.row.engine == "trtllm";
    let (trtllm, others): (Vec<_>, Vec<_>) = together.into_iter().partition(is_trtllm);
    for (name, compared, bounds) in [
        ("vllm and sglang", others, [0.08, 0.08, 0.17]),
        ("trtllm", trtllm, [0.12, 0.12, 0.30]),
        ("split", apart, [0.15, 0.15, 0.35]),
    ] {
        let errors = group_errors(&compared, Grouping::All);
        let median = |quantity| {
            let mut found = errors.iter().filter(|group| group.quantity == quantity);
            found.next().unwrap().median
        };
        let medians = [Quantity::E2e, Quantity::Tpot, Quantity::Ttft].map(median);
        let mut both = medians.iter().zip(bounds);
        assert!(
            both.all(|(median, bound)| *median < bound),
            "{name}: {medians:?}, at most {bounds:?}"
        );
    }
}

#[test]
fn a_sample_is_the_same_whatever_the_order_of_the_rows() {
    let mut rows = read_table(TABLE).unwrap();
    let ids = |rows| {
        let validation = validate(rows, Some(3), Profiles::shipped());
        assert_eq!(validation.sampled, 3);
        let ids = validation
            .compared
            .into_iter()
            .map(|compared| compared.row.id);
        ids.collect::<Vec<_>>()
    };
    let first = ids(rows.clone());
    rows.reverse();
    assert_eq!(ids(rows), first);
}

#[test]
fn rows_that_cannot_be_predicted_are_named_with_the_reason() {
    let mut rows = read_table(TABLE).unwrap();
    rows.truncate(5);
    rows[0].engine = "lmdeploy".to_owned();
    rows[1].prefill = Some(PrefillRow {
        sizes: rows[1].sizes,
        workers: None,
    });
    rows[2].model = "somebody/unheard-of".to_owned();
    rows[3].card = "abacus".to_owned();
    rows[4].concurrency = None;
    let validation = validate(rows, None, Profiles::shipped());
    let reasons: Vec<_> = validation
        .not_predicted
        .into_iter()
        .map(|(_, why)| why)
        .collect();
    let expected = [
        NotPredicted::Engine("lmdeploy".to_owned()),
        NotPredicted::NoWorkers,
        NotPredicted::Model("somebody/unheard-of".to_owned()),
        NotPredicted::Card("abacus".to_owned()),
        NotPredicted::NoConcurrency,
    ];
    assert_eq!(reasons, expected);
    assert!(validation.compared.is_empty());
}

#[test]
fn prompts_that_a_tool_sends_over_and_over_are_computed_once() {
    let mut rows = read_table(TABLE).unwrap();
    let row = rows.iter_mut().find(|row| row.engine == "vllm").unwrap();
    let (row, profiles) = (row, Profiles::shipped());
    row.provenance = Provenance::Other;
    row.model = "nvidia/Llama-3.1-8B-Instruct-FP8".to_owned();
    row.card = "h200".to_owned();
    row.concurrency = Some(64);
    row.output = 100;
    let mut tpot = |input| {
        row.input = input;
        Means::of(&serve(row, profiles).unwrap()).tpot_ms.unwrap()
    };
    // The lengths of the tool, and those of another.
    let (repeated, new) = (tpot(8000), tpot(8192));
    assert!(repeated < 0.8 * new, "{repeated} {new}");
}

#[test]
fn copies_of_a_row_count_once_and_what_is_wrong_is_named_with_its_line() {
    let mut lines: Vec<&str> = TABLE.lines().collect();
    let last = *lines.last().unwrap();
    let count = read_table(TABLE).unwrap().len();
    let copy = format!("copy-of-{last}");
    lines.push(&copy);
    assert_eq!(read_table(&lines.join("\n")).unwrap().len(), count);
    let error = |text: &str| read_table(text).unwrap_err().to_string();
    assert!(error("").contains("no rows"));
    assert!(error("id,backend\nrow,vllm").contains("silicon_data_source"));
    let (rest, _) = last.rsplit_once(',').unwrap();
    lines.push("");
    let broken = format!("{rest},fast");
    lines.push(&broken);
    let line = lines.len();
    let said = error(&lines.join("\n"));
    assert!(
        said.contains(&format!("line {line}")) && said.contains("silicon_tpot_ms"),
        "{said}"
    );
}

#[test]
fn a_lone_short_prompt_is_answered_at_once_by_every_fitted_profile() {
    for card in ["h100", "h200", "b200", "b300"] {
        for engine in [EngineKind::Vllm, EngineKind::Sglang, EngineKind::Trtllm] {
            let device = Device::named(card).unwrap().clone();
            let timing = Timing::fitted(&device, engine);
            let subject = Subject {
                model: Model::named("llama-3.1-8b").unwrap(),
                device,
                cards: 1,
                engine,
                version: None,
                split: None,
            };
            let work = Work {
                load: Load::Closed(1),
                start: Start::AtOnce,
                input: Lengths::Fixed(16),
                output: Lengths::Fixed(16),
                requests: 4,
                trace: None,
            };
            let config = subject.start(&[], &timing).unwrap();
            let ttft_ms = Means::of(&simulate(config, &work, 1)).ttft_ms.unwrap();
            assert!(ttft_ms < 60.0, "{card} {engine:?}: {ttft_ms} ms");
        }
    }
}
