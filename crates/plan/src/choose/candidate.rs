//! Divisions of a model among cards, and a first idea of what each carries.

use super::{BUDGET, Offer, Wish};
use crate::device::CARDS_OF_HOST;
use crate::flags::{Flag, cards};
use crate::predict::Subject;
use crate::split::Split;
use inferometer_catalog::engine::EngineKind;
use inferometer_catalog::timing::{StepShape, Timing};
use inferometer_core::length::{Distribution as Lengths, LengthSpec};
use inferometer_core::slo::SloMetric;
use inferometer_sim::engine::EngineConfig;

/// Token budgets that are tried beside the engine's own.
const BUDGETS: [&str; 2] = ["2048", "16384"];
/// MindIE's own.
const MINDIE_BUDGET: u32 = 8192;
/// The formula may be so much too slow: nothing is dropped for less.
const DOUBT: f64 = 0.75;
const MOST_STREAMS: u32 = 8192;
/// Workers of a kind that are tried beside each other, at most.
const MOST_WORKERS: u32 = 4;
/// How many times longer than the mean the longest request of a distribution without an end is.
const USUAL_SPREAD: f64 = 4.0;

pub(super) struct Candidate<'a> {
    pub offer: &'a Offer,
    pub subject: Subject,
    pub flags: Vec<Flag>,
    /// Servers, if the formula is right and nothing is lost.
    pub least: u64,
}

impl Candidate<'_> {
    /// Money for an hour of so many servers.
    pub fn cost(&self, replicas: u64) -> f64 {
        replicas as f64 * f64::from(self.subject.cards) * self.offer.price_per_hour
    }

    /// Servers that the cards on offer make, where those are limited.
    pub fn most(&self) -> Option<u64> {
        let most = self.offer.most?;
        Some(u64::from(most / self.subject.cards.max(1)))
    }

    /// Whether two differ in their token budget alone.
    pub fn is_like(&self, other: &Candidate<'_>) -> bool {
        let shape = |it: &Candidate<'_>| {
            let flags = it.flags.iter().filter(|(name, _)| name != BUDGET);
            let flags: Vec<Flag> = flags.cloned().collect();
            let subject = &it.subject;
            (
                it.offer.name.clone(),
                subject.engine,
                subject.split.is_some(),
                flags,
            )
        };
        shape(self) == shape(other)
    }
}

#[derive(Default)]
pub(super) struct Candidates<'a> {
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
                    split: None,
                };
                let config = match subject.start(&flags, &timing) {
                    Ok(config) => config,
                    Err(error) => {
                        all.refused += 1;
                        all.first_refusal
                            .get_or_insert_with(|| subject.refusal(&error));
                        continue;
                    }
                };
                let paces = Paces::new(wish, &config);
                // How many prompt tokens share a step with decodes is no matter where none do.
                let is_varied = |(name, _): &Flag| name == BUDGET && !is_given(wish, BUDGET);
                let most_workers = most_workers(engine, cards);
                let is_apart = Split::is_known_of(engine) && most_workers >= 2;
                if is_apart && !flags.iter().any(is_varied) {
                    all.considered += 1;
                    let (rate, workers) = paces.carried_apart(most_workers).unzip();
                    let workers = workers.unwrap_or([1, 1]);
                    let split = Split::new(&flags, workers, [cards; 2], &subject.device);
                    let apart = Subject {
                        cards: split.cards([cards, cards]),
                        split: Some(split),
                        ..subject.clone()
                    };
                    all.consider(wish, offer, apart, flags.clone(), rate);
                }
                all.consider(wish, offer, subject, flags, paces.carried());
            }
        }
    }
    all
}

impl<'a> Candidates<'a> {
    fn consider(
        &mut self,
        wish: &Wish<'a>,
        offer: &'a Offer,
        subject: Subject,
        flags: Vec<Flag>,
        rate: Option<f64>,
    ) {
        let Some(rate) = rate else {
            self.never_met += 1;
            return;
        };
        let servers = (wish.traffic / rate).ceil().max(1.0);
        let cards = servers * f64::from(subject.cards);
        if offer.most.is_some_and(|most| cards > f64::from(most)) {
            self.too_few_cards += 1;
            return;
        }
        self.hopeful.push(Candidate {
            offer,
            subject,
            flags,
            least: servers as u64,
        });
    }
}

/// Workers of both kinds, of so many cards each: those of MindIE share a host, since what starts them
/// on several is a cluster of its own.
fn most_workers(engine: EngineKind, cards: u32) -> u32 {
    match engine {
        EngineKind::Mindie => CARDS_OF_HOST / cards.max(1),
        _ => 2 * MOST_WORKERS,
    }
}

fn is_given(wish: &Wish<'_>, name: &str) -> bool {
    wish.flags.iter().any(|(known, _)| known == name)
}

/// All that is tried of an engine on a card. Flags that everything has are not varied.
fn divisions(wish: &Wish<'_>, engine: EngineKind, offer: &Offer) -> Vec<Vec<Flag>> {
    let most = offer.most.unwrap_or(CARDS_OF_HOST).min(CARDS_OF_HOST);
    let sizes = || [1, 2, 4, 8].into_iter().filter(|&size| size <= most);
    let is_given = |name: &str| is_given(wish, name);
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
                    EngineKind::Trtllm => number("ep_size", tensor),
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
                if engine == EngineKind::Mindie {
                    // Its limits of prompts and answers are short, and a step must hold a prompt.
                    let own =
                        ["maxInputTokenLen", "maxIterTimes"].map(|name| number(name, longest));
                    flags.extend(own.into_iter().filter(|(name, _)| !is_given(name)));
                    let is_budgeted = flags.iter().any(|(name, _)| name == BUDGET);
                    if !is_budgeted && longest > MINDIE_BUDGET {
                        flags.push(number(BUDGET, longest));
                    }
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
    let traced = wish.trace.iter().flat_map(|trace| trace.iter());
    let traced = traced.map(|sizes| u32::try_from(sizes.total()).unwrap_or(u32::MAX));
    let drawn = || longest(wish.input).saturating_add(longest(wish.output));
    let tokens = traced.max().unwrap_or_else(drawn);
    let margin = tokens.saturating_add(tokens / 8).max(2048);
    let round = margin.checked_next_multiple_of(256).unwrap_or(margin);
    round.min(wish.model.max_position)
}

/// How fast a server is by the formula, at best.
struct Paces<'a> {
    wish: &'a Wish<'a>,
    config: &'a EngineConfig,
    /// Seconds for a prompt alone.
    prefill: f64,
    output: f64,
}

impl<'a> Paces<'a> {
    fn new(wish: &'a Wish<'a>, config: &'a EngineConfig) -> Paces<'a> {
        let input = wish.input.mean();
        let prompt = StepShape {
            prefill_tokens: input as u32,
            prefill_pairs: (input * input / 2.0) as u64,
            sequences: 1,
            ..StepShape::default()
        };
        Paces {
            wish,
            config,
            prefill: config.step_time.seconds(&prompt) * DOUBT,
            output: wish.output.mean().max(1.0),
        }
    }

    /// Seconds of a step in which so many streams decode.
    fn decode(&self, streams: u32) -> f64 {
        let context = f64::from(streams) * (self.wish.input.mean() + self.output / 2.0);
        let shape = StepShape {
            decode_tokens: streams,
            decode_context: context as u64,
            sequences: streams,
            ..StepShape::default()
        };
        self.config.step_time.seconds(&shape) * DOUBT
    }

    fn meets(&self, tpot: f64, decode: f64) -> bool {
        self.wish.objectives.slos.iter().all(|slo| {
            let seconds = match slo.metric {
                SloMetric::Ttft | SloMetric::FirstAnswer => self.prefill,
                SloMetric::Tpot | SloMetric::Itl => tpot,
                SloMetric::MaxGap => decode,
                SloMetric::E2e | SloMetric::Job => self.prefill + self.output * tpot,
                SloMetric::PerUser => self.prefill / self.output.max(1.0) + tpot,
            };
            seconds <= slo.limit.0.as_secs_f64()
        })
    }

    /// Numbers of streams that the cache holds, each twice the one before.
    fn streams(&self) -> impl Iterator<Item = u32> {
        let cached = f64::from(self.config.blocks) * f64::from(self.config.block_size);
        let room = cached / (self.wish.input.mean() + self.output);
        let room = room.clamp(1.0, f64::from(MOST_STREAMS)) as u32;
        (0..)
            .map(|power| 1u32 << power)
            .take_while(move |&streams| streams <= room)
    }

    /// Requests/s that a server carries within the objectives.
    fn carried(&self) -> Option<f64> {
        let rate = |streams: u32| {
            let decode = self.decode(streams);
            let tpot = decode + f64::from(streams - 1) * self.prefill / self.output / 4.0;
            let e2e = self.prefill + self.output * tpot;
            // Prompts take their time, whoever decodes.
            let busy = 1.0 / (self.prefill + self.output * decode / f64::from(streams));
            let rate = (f64::from(streams) / e2e).min(busy);
            self.meets(tpot, decode)
                .then(|| rate * f64::from(self.config.replicas))
        };
        self.streams().filter_map(rate).reduce(f64::max)
    }

    /// The same where prompts are computed apart, and the numbers of workers of which a card
    /// carries most.
    fn carried_apart(&self, most_workers: u32) -> Option<(f64, [u32; 2])> {
        let rate = |streams: u32| {
            let decode = self.decode(streams);
            let rate = f64::from(streams) / (self.output * decode);
            self.meets(decode, decode).then_some(rate)
        };
        let answered = self.streams().filter_map(rate).reduce(f64::max)?;
        let replicas = f64::from(self.config.replicas);
        let carried = |[x, y]: [u32; 2]| {
            (f64::from(x) / self.prefill).min(f64::from(y) * answered) * replicas
        };
        let per_worker = |workers: [u32; 2]| carried(workers) / f64::from(workers[0] + workers[1]);
        let all = (1..=MOST_WORKERS).flat_map(|x| (1..=MOST_WORKERS).map(move |y| [x, y]));
        let all = all.filter(|[x, y]| x + y <= most_workers);
        let best = all.max_by(|a, b| {
            let fewer = (b[0] + b[1]).cmp(&(a[0] + a[1]));
            per_worker(*a).total_cmp(&per_worker(*b)).then(fewer)
        })?;
        Some((carried(best), best))
    }
}
