//! The server's own view, and what the slowest requests waited for.

use super::{RunReport, heading};
use inferometer_core::server::{
    DeviceSummary, EnergySummary, Explained, Explanation, HostSummary, LEAST_COVERAGE, Level,
    SpeculationBasis, SpeculationSummary,
};
use inferometer_message::{ServerText, server};
use inferometer_page::doc::{Block, Pair, Section};
use inferometer_page::number;

/// Parts of an explanation below this share are left out.
const LEAST_SHARE: f64 = 0.01;

/// Fewer samples of a gauge are told beside it: their mean is that of some moments.
const FEW_SAMPLES: u64 = 10;

const MIB_PER_GIB: f64 = 1024.0;

pub(super) fn section(report: &RunReport<'_>) -> Option<Section> {
    let view = report.summary.server.as_ref()?;
    let mut pairs = Vec::new();
    let mut pair = |label: ServerText, value: Option<String>| {
        pairs.extend(value.map(|value| Pair::new(report.say(label), value)));
    };
    let leveled = |level: Level, shown: fn(f64) -> String| {
        let said = leveled(report, level, shown);
        match view.samples {
            n if n < FEW_SAMPLES => {
                let values = [("said", said), ("n", n.to_string())];
                report.fill(ServerText::OfSamples, &values)
            }
            _ => said,
        }
    };
    let requests = |level: Level| leveled(level, number::mean);
    pair(ServerText::Running, view.running.map(requests));
    pair(ServerText::WaitingRequests, view.waiting.map(requests));
    let kv = view.kv_use.map(|level| leveled(level, number::percent));
    pair(ServerText::KvUse, kv);
    let counted = |count: f64| number::grouped(count, 0);
    pair(ServerText::Preempted, view.preemptions.map(counted));
    pair(
        ServerText::PrefixHits,
        view.prefix_hit_rate.map(number::percent),
    );
    let speculation = view.speculation.as_ref();
    let speculation = speculation.map(|drafts| of_speculation(report, drafts));
    pair(ServerText::Speculation, speculation);
    pair(ServerText::BatchSize, view.batch_size.map(number::mean));
    pair(ServerText::StepTokens, view.step_tokens.map(number::mean));
    let between = view.between.unwrap_or_default();
    for (label, times) in [
        (
            ServerText::MeanTimes,
            [
                (ServerText::QueueMean, view.queue_mean_ms),
                (ServerText::PrefillMean, view.prefill_mean_ms),
                (ServerText::DecodeMean, view.decode_mean_ms),
            ],
        ),
        (
            ServerText::Between,
            [
                (ServerText::BetweenTtft, between.ttft_ms),
                (ServerText::BetweenTpot, between.tpot_ms),
                (ServerText::BetweenE2e, between.e2e_ms),
            ],
        ),
    ] {
        let times = times.into_iter();
        let said = |(of, ms)| Some(report.fill(of, &[("time", number::millis(ms?))]));
        let times: Vec<String> = times.filter_map(said).collect();
        pair(label, (!times.is_empty()).then(|| report.list(&times)));
    }
    pair(
        ServerText::FrontEndCores,
        view.front_end_cores.map(number::percent),
    );
    for device in &view.devices {
        let value = of_device(report, device);
        let name = format!("{} {}", device.name, device.index);
        pairs.extend((!value.is_empty()).then(|| Pair::new(&name, value)));
    }
    if let Some(energy) = &view.energy {
        let said = of_energy(report, energy);
        pairs.push(Pair::new(report.say(ServerText::Energy), said));
    }
    let host = view.host.as_ref().map(|host| of_host(report, host));
    let host = host.filter(|said| !said.is_empty());
    pairs.extend(host.map(|said| Pair::new(report.say(ServerText::ClientHost), said)));
    let mut blocks = vec![Block::Pairs(pairs)];
    for explanation in &view.slowest {
        blocks.extend(explained(report, explanation));
    }
    Some(Section::headed(&heading(report, ServerText::View), blocks))
}

fn leveled(report: &RunReport<'_>, level: Level, shown: fn(f64) -> String) -> String {
    let values = [("mean", shown(level.mean)), ("max", shown(level.max))];
    report.fill(ServerText::MeanAndMax, &values)
}

fn of_device(report: &RunReport<'_>, device: &DeviceSummary) -> String {
    let mut parts = Vec::new();
    if let Some(busy) = device.busy {
        let busy = leveled(report, busy, number::percent);
        parts.push(report.fill(ServerText::Busy, &[("share", busy)]));
    }
    if let Some(used) = device.memory_used_mib {
        let gib = |mib: f64| number::exact((mib / MIB_PER_GIB * 10.0).round() / 10.0);
        parts.push(match device.memory_total_mib {
            Some(total) => {
                let values = [("used", gib(used.max)), ("total", gib(total))];
                report.fill(ServerText::MemoryOf, &values)
            }
            None => report.fill(ServerText::Memory, &[("used", gib(used.max))]),
        });
    }
    if let Some(power) = device.power_w {
        parts.push(report.fill(ServerText::Power, &[("watts", number::mean(power.mean))]));
    }
    report.list(&parts)
}

fn of_speculation(report: &RunReport<'_>, drafts: &SpeculationSummary) -> String {
    let mut parts = Vec::new();
    if let Some(length) = drafts.accepted_length {
        let length = ("length", number::grouped(length, 2));
        parts.push(report.fill(ServerText::SpeculationLength, &[length]));
    }
    if let Some(rate) = drafts.acceptance_rate {
        let share = ("share", number::percent(rate));
        parts.push(report.fill(ServerText::SpeculationRate, &[share]));
    }
    if !drafts.by_position.is_empty() {
        let shares: Vec<String> = (drafts.by_position.iter())
            .map(|share| number::percent(*share))
            .collect();
        let list = ("list", report.list(&shares));
        parts.push(report.fill(ServerText::SpeculationPlaces, &[list]));
    }
    if drafts.basis == SpeculationBasis::Gauges {
        parts.push(report.say(ServerText::SpeculationGauges).to_owned());
    }
    report.clauses(&parts)
}

fn of_energy(report: &RunReport<'_>, energy: &EnergySummary) -> String {
    let cards: Vec<String> = energy.cards.iter().map(u32::to_string).collect();
    let cards = report.fill(ServerText::EnergyCards, &[("list", report.list(&cards))]);
    let mut parts = vec![report.fill(
        ServerText::EnergyPower,
        &[
            ("watts", number::mean(energy.watts)),
            ("cards", cards),
            ("share", number::percent(energy.coverage)),
        ],
    )];
    let plain = |value: f64| number::grouped(value, number::decimals(value));
    if let Some((joules, rate)) =
        (energy.joules_per_output_token).zip(energy.output_tokens_per_joule)
    {
        let values = [("joules", plain(joules)), ("rate", plain(rate))];
        parts.push(report.fill(ServerText::EnergyPerToken, &values));
    }
    for (text, joules) in [
        (ServerText::EnergyPerItem, energy.joules_per_item),
        (ServerText::EnergyPerRequest, energy.joules_per_request),
    ] {
        parts.extend(joules.map(|joules| report.fill(text, &[("joules", plain(joules))])));
    }
    if energy.coverage < LEAST_COVERAGE {
        parts.push(report.say(ServerText::EnergyUnknown).to_owned());
    }
    report.clauses(&parts)
}

fn of_host(report: &RunReport<'_>, host: &HostSummary) -> String {
    let mut parts = Vec::new();
    if let Some(cpu) = host.cpu {
        let cpu = leveled(report, cpu, number::percent);
        parts.push(report.fill(ServerText::HostCpu, &[("share", cpu)]));
    }
    if let Some(used) = host.memory_used_mib {
        let gib = number::exact((used.max / MIB_PER_GIB * 10.0).round() / 10.0);
        parts.push(report.fill(ServerText::Memory, &[("used", gib)]));
    }
    report.list(&parts)
}

fn explained(report: &RunReport<'_>, explanation: &Explanation) -> Vec<Block> {
    let of = match explanation.of {
        Explained::Ttft => "TTFT",
        Explained::E2e => "E2E",
    };
    let head = report.fill(
        ServerText::Slowest,
        &[
            ("of", of.to_owned()),
            ("p", number::exact(explanation.percentile)),
            ("n", number::count(explanation.requests)),
            ("ms", number::exact(explanation.mean_ms.round())),
        ],
    );
    let parts = (explanation.parts.iter()).filter(|part| part.share >= LEAST_SHARE);
    let pairs = parts.map(|part| {
        let values = [
            ("share", number::percent(part.share)),
            ("time", number::millis(part.ms)),
        ];
        let value = report.fill(ServerText::ShareAndTime, &values);
        Pair::new(server::cause(part.cause, report.lang), value)
    });
    let pairs = Block::Pairs(pairs.collect());
    let evidence = (explanation.evidence.iter()).map(|seen| server::evidence(seen, report.lang));
    let mut blocks = vec![Block::Paragraph(head), pairs];
    blocks.extend(evidence.map(Block::Paragraph));
    blocks
}
