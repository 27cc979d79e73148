//! The server's view in numbers, over the measured part of a run.

use crate::fold::Ended;
use inferometer_core::server::{
    Between, DeviceState, DeviceSummary, EnergySummary, EngineState, HostSummary, Level,
    MOST_POSITIONS, Sample, ServerSummary, SpeculationBasis, SpeculationSummary, Total,
};
use inferometer_core::summary::{Distribution, Summary};
use inferometer_core::units::Offset;
use std::collections::BTreeMap;

/// Sums up the samples from `from` to `to`; absent if there is none. Counters are read at the
/// last sample before and the first one after, so that nothing of the measured part is lost.
pub fn summarize(samples: &[Sample], from: Offset, to: Offset) -> Option<ServerSummary> {
    let inside: Vec<&Sample> = samples
        .iter()
        .filter(|sample| (from..=to).contains(&sample.at))
        .collect();
    if inside.is_empty() {
        return None;
    }
    let gauges = |read: fn(&EngineState) -> Option<f64>| {
        level(
            inside
                .iter()
                .filter_map(|sample| read(sample.engine.as_ref()?)),
        )
    };
    let course = Course::new(samples, from, to);
    let mean_ms =
        |read: fn(&EngineState) -> Option<Total>| course.mean(read).map(|seconds| seconds * 1e3);
    let queried = course.growth(|state| state.prefix_queries);
    let hits = course.growth(|state| state.prefix_hits);
    let hit_rate = match (hits, queried) {
        (Some(hits), Some(queried)) => (queried > 0.0).then(|| hits / queried),
        _ => gauges(|state| state.prefix_hit_rate).map(|level| level.mean),
    };
    let of_host = |read: fn(&inferometer_core::server::HostState) -> Option<f64>| {
        level(
            inside
                .iter()
                .filter_map(|sample| read(sample.host.as_ref()?)),
        )
    };
    Some(ServerSummary {
        samples: inside.iter().filter(|s| s.engine.is_some()).count() as u64,
        running: gauges(|state| state.running),
        waiting: gauges(|state| state.waiting),
        kv_use: gauges(|state| state.kv_use),
        preemptions: course.growth(|state| state.preemptions),
        prefix_hit_rate: hit_rate,
        prompt_tokens: course.growth(|state| state.prompt_tokens),
        generation_tokens: course.growth(|state| state.generation_tokens),
        speculation: speculation(&course, gauges),
        batch_size: gauges(|state| state.batch_size).map(|level| level.mean),
        step_tokens: course.mean(|state| state.step_tokens),
        queue_mean_ms: mean_ms(|state| state.queue_s),
        prefill_mean_ms: mean_ms(|state| state.prefill_s),
        decode_mean_ms: mean_ms(|state| state.decode_s),
        ttft_mean_ms: mean_ms(|state| state.ttft_s),
        e2e_mean_ms: mean_ms(|state| state.e2e_s),
        devices: devices(&inside),
        energy: EnergySummary::of(samples, from, to),
        host: inside
            .iter()
            .any(|sample| sample.host.is_some())
            .then(|| HostSummary {
                cpu: of_host(|host| host.cpu),
                memory_used_mib: of_host(|host| host.memory_used_mib),
            }),
        between: None,
        front_end_cores: course.rate(|state| state.front_end_cpu_s),
        slowest: Vec::new(),
    })
}

/// Drafts, by their counters where there are such.
fn speculation(
    course: &Course<'_>,
    gauges: impl Fn(fn(&EngineState) -> Option<f64>) -> Option<Level>,
) -> Option<SpeculationSummary> {
    let drafts = course.growth(|state| state.drafts);
    if let Some(drafts) = drafts.filter(|drafts| *drafts > 0.0) {
        let at =
            |place: usize| course.growth(|state| state.accepted_by_position.get(place).copied());
        return Some(SpeculationSummary::counted(
            drafts,
            course.growth(|state| state.draft_tokens),
            course.growth(|state| state.accepted_tokens),
            (0..MOST_POSITIONS).map_while(at).collect(),
        ));
    }
    // SGLang says 0 where nothing was drafted yet, or never is: a step with a draft gives at least
    // one token.
    fn length(state: &EngineState) -> Option<f64> {
        state.accept_length.filter(|length| *length >= 1.0)
    }
    let [length, rate] = [
        gauges(length),
        gauges(|state| length(state).and(state.accept_rate)),
    ]
    .map(|level| level.map(|level| level.mean));
    (length.is_some() || rate.is_some()).then_some(SpeculationSummary {
        basis: SpeculationBasis::Gauges,
        accepted_length: length,
        acceptance_rate: rate,
        by_position: Vec::new(),
        drafts: None,
    })
}

/// The client's mean times less the engine's own. Its time per token is that of a request from
/// its first to its last token, over as many tokens as answers have.
pub(crate) fn between(
    client: &Summary,
    ended: Option<Ended>,
    server: &ServerSummary,
) -> Option<Between> {
    let mean = |found: Option<Distribution>| found.map(|found| found.mean);
    let latency = &client.latency;
    let gaps = ended.map(|ended| ended.output_mean - 1.0);
    let per_token = server.decode_mean_ms.zip(gaps.filter(|gaps| *gaps > 0.0));
    let less = |client: Option<f64>, server: Option<f64>| Some(client? - server?);
    let between = Between {
        // From sending: a wait at the user's own cap is not the server's.
        ttft_ms: less(
            mean(latency.ttft_from_sent_ms.or(latency.ttft_ms)),
            server.ttft_mean_ms,
        ),
        tpot_ms: less(
            mean(latency.tpot_ms),
            per_token.map(|(decode, gaps)| decode / gaps),
        ),
        e2e_ms: less(ended.map(|ended| ended.e2e_mean_ms), server.e2e_mean_ms),
    };
    (between != Between::default()).then_some(between)
}

fn level(values: impl Iterator<Item = f64>) -> Option<Level> {
    let (mut n, mut sum, mut max) = (0_u64, 0.0, f64::NEG_INFINITY);
    for value in values.filter(|value| value.is_finite()) {
        (n, sum, max) = (n + 1, sum + value, value.max(max));
    }
    (n > 0).then(|| Level {
        mean: sum / n as f64,
        max,
    })
}

fn devices(inside: &[&Sample]) -> Vec<DeviceSummary> {
    let mut seen: BTreeMap<u32, Vec<&DeviceState>> = BTreeMap::new();
    for device in inside.iter().flat_map(|sample| &sample.devices) {
        seen.entry(device.index).or_default().push(device);
    }
    let summed = |(index, states): (u32, Vec<&DeviceState>)| {
        let of = |read: fn(&DeviceState) -> Option<f64>| {
            level(states.iter().filter_map(|state| read(state)))
        };
        DeviceSummary {
            index,
            name: states.first().map(|s| s.name.clone()).unwrap_or_default(),
            driver: states.iter().find_map(|state| state.driver.clone()),
            busy: of(|state| state.busy),
            memory_used_mib: of(|state| state.memory_used_mib),
            memory_total_mib: states.iter().find_map(|state| state.memory_total_mib),
            power_w: of(|state| state.power_w),
            temperature_c: of(|state| state.temperature_c),
        }
    };
    seen.into_iter().map(summed).collect()
}

/// The engine's samples around a stretch of time, for counters.
pub(super) struct Course<'a>(Vec<(Offset, &'a EngineState)>);

impl<'a> Course<'a> {
    /// From the last sample at or before `from` to the first at or after `to`, as far as there
    /// are such.
    pub fn new(samples: &'a [Sample], from: Offset, to: Offset) -> Self {
        let engine: Vec<(Offset, &EngineState)> = samples
            .iter()
            .filter_map(|sample| Some((sample.at, sample.engine.as_ref()?)))
            .collect();
        let first = engine
            .partition_point(|(at, _)| *at <= from)
            .saturating_sub(1);
        let end = engine.partition_point(|(at, _)| *at < to).saturating_add(1);
        let picked = engine.get(first..end.min(engine.len())).unwrap_or_default();
        Course(picked.to_vec())
    }

    /// From the first of its samples to the last.
    pub fn span(&self) -> Option<(Offset, Offset)> {
        Some((self.0.first()?.0, self.0.last()?.0))
    }

    /// By how much a counter grew; unknown with fewer than two readings. One that falls began
    /// anew with the engine.
    pub fn growth(&self, read: impl Fn(&EngineState) -> Option<f64>) -> Option<f64> {
        let mut values = self.0.iter().filter_map(|(_, state)| read(state));
        let mut last = values.next()?;
        let mut grown = None;
        for value in values {
            let step = if value < last { value } else { value - last };
            grown = Some(grown.unwrap_or(0.0) + step);
            last = value;
        }
        grown
    }

    /// How fast a counter grew, per second.
    pub fn rate(&self, read: impl Fn(&EngineState) -> Option<f64>) -> Option<f64> {
        let (from, to) = self.span().filter(|(from, to)| from < to)?;
        Some(self.growth(read)? / to.since(from).as_secs_f64())
    }

    /// Mean of the values that a histogram took in; unknown if there was none.
    pub fn mean(&self, read: impl Fn(&EngineState) -> Option<Total>) -> Option<f64> {
        let count = self.growth(|state| Some(read(state)?.count))?;
        let sum = self.growth(|state| Some(read(state)?.sum))?;
        (count > 0.0).then(|| sum / count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(s: u64) -> Offset {
        Offset(s * 1_000_000_000)
    }

    fn engine(at: u64, state: EngineState) -> Sample {
        Sample {
            at: seconds(at),
            engine: Some(state),
            ..Sample::default()
        }
    }

    fn at(s: u64, running: f64, done: f64) -> Sample {
        engine(
            s,
            EngineState {
                running: Some(running),
                preemptions: Some(done / 10.0),
                prefix_queries: Some(done * 100.0),
                prefix_hits: Some(done * 25.0),
                queue_s: Some(Total {
                    sum: done * 0.2,
                    count: done,
                }),
                ..EngineState::default()
            },
        )
    }

    #[test]
    fn gauges_are_of_the_measured_part_and_counters_of_its_edges() {
        let samples = [
            at(0, 50.0, 0.0),
            at(1, 50.0, 10.0),
            at(2, 4.0, 20.0),
            at(3, 8.0, 30.0),
            at(4, 50.0, 40.0),
            at(9, 0.0, 99.0),
        ];
        let summary = summarize(&samples, Offset(1_500_000_000), Offset(3_500_000_000)).unwrap();
        assert_eq!(summary.samples, 2);
        assert_eq!(
            summary.running,
            Some(Level {
                mean: 6.0,
                max: 8.0
            })
        );
        assert_eq!(summary.preemptions, Some(3.0));
        assert_eq!(summary.prefix_hit_rate, Some(0.25));
        assert!((summary.queue_mean_ms.unwrap() - 200.0).abs() < 1e-9);
        assert_eq!((summary.kv_use, summary.prefill_mean_ms), (None, None));
    }

    #[test]
    fn an_engine_that_was_started_anew_counts_from_nothing() {
        let samples = [at(0, 1.0, 100.0), at(1, 1.0, 110.0), at(2, 1.0, 20.0)];
        let summary = summarize(&samples, seconds(0), seconds(2)).unwrap();
        assert_eq!(summary.preemptions, Some(3.0));
    }

    #[test]
    fn without_samples_in_the_measured_part_there_is_no_summary() {
        assert_eq!(summarize(&[at(9, 1.0, 1.0)], seconds(0), seconds(5)), None);
        let one = summarize(&[at(3, 1.0, 1.0)], seconds(0), seconds(5)).unwrap();
        assert_eq!((one.preemptions, one.queue_mean_ms), (None, None));
    }

    #[test]
    fn an_engine_that_drafts_nothing_does_not_say_that_no_draft_is_accepted() {
        let said = |length: f64, rate: f64| EngineState {
            accept_length: Some(length),
            accept_rate: Some(rate),
            ..EngineState::default()
        };
        let of = |states: [EngineState; 3]| {
            let at = |(place, state)| engine(place as u64, state);
            let samples: Vec<Sample> = states.into_iter().enumerate().map(at).collect();
            summarize(&samples, seconds(0), seconds(2))
                .unwrap()
                .speculation
        };
        assert_eq!(of([said(0.0, 0.0), said(0.0, 0.0), said(0.0, 0.0)]), None);
        // Nothing was drafted before the first sample.
        let found = of([said(0.0, 0.0), said(2.0, 0.25), said(3.0, 0.75)]).unwrap();
        assert_eq!(found.basis, SpeculationBasis::Gauges);
        assert_eq!(
            (found.accepted_length, found.acceptance_rate),
            (Some(2.5), Some(0.5))
        );
    }
}
