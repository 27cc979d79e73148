//! Divisions of a model among cards, and a first idea of what each carries.

use super::{BUDGET, Offer, Wish};
use crate::flags::{Flag, command};
use crate::predict::Subject;
use inferometer_catalog::engine::EngineKind;
use inferometer_catalog::timing::{StepShape, Timing};
use inferometer_core::length::{Distribution as Lengths, LengthSpec};
use inferometer_core::slo::SloMetric;
use inferometer_sim::engine::EngineConfig;

/// Cards of one server, at most: more are on several hosts, whose links are not modelled.
const CARDS_OF_HOST: u32 = 8;
/// Token budgets that are tried beside the engine's own.
const BUDGETS: [&str; 2] = ["2048", "16384"];
/// The formula may be so much too slow: nothing is dropped for less.
const DOUBT: f64 = 0.75;
const MOST_STREAMS: u32 = 8192;
/// How many times longer than the mean the longest request of a distribution without an end is.
const USUAL_SPREAD: f64 = 4.0;

pub(super) struct Candidate<'a> {
    pub offer: &'a Offer,
    pub subject: Subject,
    pub flags: Vec<Flag>,
    /// Money for an hour, if the formula is right and nothing is lost.
    pub least_cost: f64,
}

#[derive(Default)]
pub(super) struct Candidates<'a> {
    /// What looks cheapest first.
    pub hopeful: Vec<Candidate<'a>>,
    pub considered: usize,
    pub refused: usize,
    pub first_refusal: Option<String>,
    pub never_met: usize,
    pub too_few_cards: usize,
}

pub(super) fn candidates<'a>(wish: &Wish<'a>) -> Candidates<'a> {
    let mut all = Candidates::default();
    for offer in wish.offers {
        for &(engine, version) in wish.engines {
            let timing = Timing::fitted(&offer.card.device, engine);
            for flags in divisions(wish, engine, offer) {
                all.considered += 1;
                let cards = cards(engine, &flags);
                let subject = Subject {
                    model: wish.model.clone(),
                    device: offer.card.device.clone(),
                    cards,
                    engine,
                    version,
                };
                let config = match subject.start(&flags, &timing) {
                    Ok(config) => config,
                    Err(error) => {
                        all.refused += 1;
                        all.first_refusal.get_or_insert_with(|| error.to_string());
                        continue;
                    }
                };
                let Some(rate) = carried(wish, &config) else {
                    all.never_met += 1;
                    continue;
                };
                let servers = (wish.traffic / rate).ceil().max(1.0);
                if offer
                    .most
                    .is_some_and(|most| servers * f64::from(cards) > f64::from(most))
                {
                    all.too_few_cards += 1;
                    continue;
                }
                all.hopeful.push(Candidate {
                    offer,
                    subject,
                    flags,
                    least_cost: servers * f64::from(cards) * offer.price_per_hour,
                });
            }
        }
    }
    all.hopeful
        .sort_by(|a, b| a.least_cost.total_cmp(&b.least_cost));
    all
}

fn cards(engine: EngineKind, flags: &[Flag]) -> u32 {
    let command = command(engine, "model", flags);
    let cards = command.map_or(1, |command| command.parallelism().cards());
    u32::try_from(cards).unwrap_or(u32::MAX)
}

/// All that is tried of an engine on a card. Flags that everything has are not varied.
fn divisions(wish: &Wish<'_>, engine: EngineKind, offer: &Offer) -> Vec<Vec<Flag>> {
    let most = offer.most.unwrap_or(CARDS_OF_HOST).min(CARDS_OF_HOST);
    let sizes = || [1, 2, 4, 8].into_iter().filter(|&size| size <= most);
    let is_given = |name: &str| wish.flags.iter().any(|(known, _)| known == name);
    let number = |name: &str, size: u32| (name.to_owned(), Some(size.to_string()));
    let sparse = wish.model.experts.is_some();
    let mut layouts: Vec<Vec<Flag>> = Vec::new();
    for tensor in sizes() {
        for pipeline in [1, 2]
            .into_iter()
            .filter(|pipeline| tensor * pipeline <= most)
        {
            let mut layout = vec![number("tensor-parallel-size", tensor)];
            if pipeline > 1 {
                layout.push(number("pipeline-parallel-size", pipeline));
            }
            layouts.push(layout.clone());
            // Experts whole on cards, with attention sliced or with a replica on each card.
            if sparse && tensor > 1 && pipeline == 1 {
                let whole = match engine {
                    EngineKind::Sglang => number("ep-size", tensor),
                    _ => ("enable-expert-parallel".to_owned(), None),
                };
                layout.push(whole.clone());
                layouts.push(layout);
                if engine == EngineKind::Vllm {
                    layouts.push(vec![number("data-parallel-size", tensor), whole]);
                }
            }
        }
    }
    let budgets = BUDGETS.iter().filter(|_| !is_given(BUDGET)).map(|size| {
        let flag: Flag = (BUDGET.to_owned(), Some((*size).to_owned()));
        Some(flag)
    });
    let budgets: Vec<Option<Flag>> = std::iter::once(None).chain(budgets).collect();
    let longest = longest(wish);
    let all = layouts.into_iter().flat_map(|layout| {
        let budgets = budgets.iter();
        budgets
            .map(move |budget| {
                let own = layout.iter().cloned().chain(budget.clone());
                let own = own.filter(|(name, _)| !is_given(name));
                let mut flags: Vec<Flag> = wish.flags.iter().cloned().chain(own).collect();
                if !is_given("max-model-len") {
                    flags.push(number("max-model-len", longest));
                }
                flags
            })
            .collect::<Vec<_>>()
    });
    all.collect()
}

/// Tokens of the longest request, with a margin; no more than the model has.
fn longest(wish: &Wish<'_>) -> u32 {
    let longest = |lengths: Lengths| {
        let known = LengthSpec::Drawn(lengths).longest();
        known.unwrap_or((lengths.mean() * USUAL_SPREAD) as u32)
    };
    let tokens = longest(wish.input).saturating_add(longest(wish.output));
    let margin = tokens.saturating_add(tokens / 8).max(2048);
    let round = margin.checked_next_multiple_of(256).unwrap_or(margin);
    round.min(wish.model.max_position)
}

/// Requests/s that a server carries within the objectives by the formula, at best.
fn carried(wish: &Wish<'_>, config: &EngineConfig) -> Option<f64> {
    let (input, output) = (wish.input.mean(), wish.output.mean().max(1.0));
    let cached = f64::from(config.blocks) * f64::from(config.block_size);
    let room = (cached / (input + output)).min(f64::from(MOST_STREAMS)) as u32;
    let step = |shape: &StepShape| config.step_time.seconds(shape) * DOUBT;
    let prefill = step(&StepShape {
        prefill_tokens: input as u32,
        prefill_pairs: (input * input / 2.0) as u64,
        sequences: 1,
        ..StepShape::default()
    });
    let rate = |streams: u32| {
        let context = f64::from(streams) * (input + output / 2.0);
        let decode = step(&StepShape {
            decode_tokens: streams,
            decode_context: context as u64,
            sequences: streams,
            ..StepShape::default()
        });
        let tpot = decode + f64::from(streams - 1) * prefill / output / 4.0;
        let e2e = prefill + output * tpot;
        let meets = wish.objectives.slos.iter().all(|slo| {
            let seconds = match slo.metric {
                SloMetric::Ttft | SloMetric::FirstAnswer => prefill,
                SloMetric::Tpot | SloMetric::Itl => tpot,
                SloMetric::MaxGap => decode,
                SloMetric::E2e | SloMetric::Job => e2e,
            };
            seconds <= slo.limit.0.as_secs_f64()
        });
        // Prompts take their time, whoever decodes.
        let busy = 1.0 / (prefill + output * decode / f64::from(streams));
        meets.then(|| (f64::from(streams) / e2e).min(busy) * f64::from(config.replicas))
    };
    let streams = (0..)
        .map(|power| 1u32 << power)
        .take_while(|&streams| streams <= room.max(1));
    streams.filter_map(rate).reduce(f64::max)
}
