//! All that is known of one result.

use super::{ImportReport, ReportedResult, flags, group, lines_in_words, statistics};
use inferometer_import::{ImportedResult, Spread, UnreadReason};
use inferometer_message::{ImportText, NumbersText};
use inferometer_page::doc::{Block, Cell, Column, Pair, Section, Table};
use inferometer_page::number;
use inferometer_text::Lang;
use inferometer_text::punctuation::PunctuationText;
use std::collections::BTreeMap;

/// All of it where that was asked for, else what the tables above do not have, if there is any.
pub(super) fn detail(
    report: &ImportReport<'_>,
    place: usize,
    result: &ReportedResult<'_>,
) -> Option<Section> {
    let lang = report.lang;
    // Chosen columns leave out what was not asked for.
    let is_rest = !report.details && report.columns.is_none();
    let is_told = is_rest && group::has_all_times(report, place, result);
    let no_label = ImportText::NoLabel.text(lang).to_owned();
    let label = result.found.label.clone().unwrap_or(no_label);
    let heading = ImportText::Result.with(
        lang,
        &[("number", result.number.to_string()), ("label", label)],
    );
    let mut pairs = pairs(result, lang);
    if is_rest {
        let mut told = vec![ImportText::Lengths, ImportText::Flags, ImportText::Doubts];
        let slo = result.found.summary.as_ref().and_then(|it| it.slo);
        if slo.is_none_or(|slo| slo.goodput_per_s.is_none()) {
            told.push(ImportText::Throughput);
        }
        if report.results.len() == 1 {
            told.push(ImportText::Source);
        }
        let told: Vec<&str> = told.into_iter().map(|key| key.text(lang)).collect();
        pairs.retain(|pair| !told.contains(&pair.key.as_str()));
    }
    let mut blocks = Vec::new();
    if !pairs.is_empty() {
        blocks.push(Block::Pairs(pairs));
    }
    let latencies = latencies(result, lang);
    if !latencies.rows.is_empty() && !is_told {
        blocks.push(Block::Table(latencies));
    }
    (!blocks.is_empty()).then(|| Section::headed(&heading, blocks))
}

fn pairs(result: &ReportedResult<'_>, lang: Lang) -> Vec<Pair> {
    let found = result.found;
    let mut pairs = Vec::new();
    let mut push = |key: ImportText, value: String| {
        if !value.is_empty() {
            pairs.push(Pair::new(key.text(lang), value));
        }
    };
    let mut place = vec![
        ("file", found.file.clone()),
        ("tool", found.tool.to_string()),
    ];
    let at = match result.lines() {
        Some((first, last)) => {
            place.push(("lines", lines_in_words(&[(first, last)], lang)));
            ImportText::At
        }
        None => ImportText::AtDatabase,
    };
    push(ImportText::Source, at.with(lang, &place));
    if !found.point.is_empty() {
        push(ImportText::Load, result.point().to_string());
    }
    let tags = result
        .measured
        .iter()
        .flat_map(|(_, summary)| &summary.tags);
    let tags: Vec<String> = tags
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    push(ImportText::Tags, PunctuationText::Comma.join(lang, &tags));
    push(ImportText::Requests, requests(result, lang));
    let throughput = result.throughput();
    let slo = found.summary.as_ref().and_then(|summary| summary.slo);
    let goodput = slo.and_then(|slo| slo.goodput_per_s);
    let rates = [
        (throughput.requests_per_s).map(|rate| format!("{} req/s", number::brief(rate))),
        (throughput.output_tokens_per_s)
            .map(|rate| ImportText::OutputRate.with(lang, &[("rate", number::brief(rate))])),
        goodput.map(|rate| ImportText::Goodput.with(lang, &[("rate", number::brief(rate))])),
        (throughput.total_tokens_per_s)
            .map(|rate| ImportText::TotalRate.with(lang, &[("rate", number::brief(rate))])),
    ];
    let rates: Vec<String> = rates.into_iter().flatten().collect();
    push(
        ImportText::Throughput,
        PunctuationText::Comma.join(lang, &rates),
    );
    let lengths = result.lengths();
    if lengths.iter().any(Option::is_some) {
        let [input, output] =
            lengths.map(|mean| mean.map_or(number::ABSENT.to_owned(), number::mean));
        let lengths = [("input", input), ("output", output)];
        push(
            ImportText::Lengths,
            ImportText::MeanLengths.with(lang, &lengths),
        );
    }
    push(
        ImportText::Flags,
        found.flags.as_ref().map(flags).unwrap_or_default(),
    );
    if let Some(defaults) = &found.defaults {
        let values = [
            ("flags", flags(&defaults.flags)),
            ("version", defaults.version.clone()),
            ("by", defaults.by.clone()),
        ];
        push(
            ImportText::Defaults,
            ImportText::DefaultsOf.with(lang, &values),
        );
    }
    if let Some(gib) = found.device_memory_gib {
        push(ImportText::Memory, format!("{} GiB", number::brief(gib)));
    }
    let semicolon = PunctuationText::Semicolon;
    let assumed = found.assumed.iter();
    let assumed: Vec<String> = assumed.map(|assumption| assumption.stated(lang)).collect();
    push(ImportText::Assumed, semicolon.join(lang, &assumed));
    push(
        ImportText::NotRead,
        semicolon.join(lang, &unread(found, lang)),
    );
    let said = result.doubts.iter();
    let said = said.map(|doubt| format!("{}: {}", doubt.code.name(), doubt.text));
    push(
        ImportText::Doubts,
        semicolon.join(lang, &Vec::from_iter(said)),
    );
    if let Some((word, error)) = result.failure().zip(found.error.clone()) {
        push(word, error);
    }
    pairs
}

/// Names of numbers that were not read, those with one reason together.
fn unread(found: &ImportedResult, lang: Lang) -> Vec<String> {
    let comma = PunctuationText::Comma;
    let mut by_reason: BTreeMap<Option<UnreadReason>, Vec<String>> = BTreeMap::new();
    for name in &found.unread {
        let reason = found.unread_because.get(name).copied();
        by_reason.entry(reason).or_default().push(name.clone());
    }
    let names = by_reason.into_iter().map(|(reason, names)| {
        let names = comma.join(lang, &names);
        match reason {
            Some(reason) => {
                let values = [("names", names), ("reason", reason.text(lang).to_owned())];
                ImportText::NotReadBecause.with(lang, &values)
            }
            None => names,
        }
    });
    names.collect()
}

fn requests(result: &ReportedResult<'_>, lang: Lang) -> String {
    let requests = result.requests();
    let [planned, ok, failed] =
        [requests.planned, requests.ok, requests.failed].map(|count| count.map(number::count));
    let mut parts = Vec::new();
    match (planned, ok) {
        (Some(planned), Some(ok)) => {
            parts.push(ImportText::OkOf.with(lang, &[("ok", ok), ("planned", planned)]));
        }
        (None, Some(ok)) | (Some(ok), None) => parts.push(ImportText::Ok.with(lang, &[("ok", ok)])),
        (None, None) => {}
    }
    parts.extend(failed.map(|failed| ImportText::Failed.with(lang, &[("failed", failed)])));
    parts.extend(requests.failed_share.map(|share| {
        let share = format!("{} %", number::brief(100.0 * share));
        ImportText::FailedShare.with(lang, &[("share", share)])
    }));
    let cut = requests.cut.filter(|cut| *cut > 0).map(number::count);
    parts.extend(cut.map(|cut| ImportText::Cut.with(lang, &[("cut", cut)])));
    PunctuationText::Comma.join(lang, &parts)
}

fn latencies(result: &ReportedResult<'_>, lang: Lang) -> Table {
    let mut columns = vec![Column::left("ms")];
    let (mean, max) = (NumbersText::Mean.text(lang), NumbersText::Max.text(lang));
    columns.extend([mean, "p50", "p75", "p90", "p95", "p99", max].map(Column::right));
    let row = |name: String, spread: &Spread| {
        let values = statistics(spread).map(|value| match value {
            Some(value) => Cell::brief(Some(value)),
            None => Cell::blank(),
        });
        Vec::from_iter([Cell::text(name)].into_iter().chain(values))
    };
    let of_server = result.of_server();
    let of_server = of_server.iter().map(|(name, is_time, spread)| {
        let name = if *is_time {
            name.text(lang).to_owned()
        } else {
            ImportText::InRequests.with(lang, &[("name", name.text(lang).to_owned())])
        };
        (name, spread)
    });
    let of_server = of_server.map(|(name, spread)| row(name, spread));
    let of_requests = (result.latencies().into_iter())
        .filter_map(|(name, spread)| Some(row(name.to_owned(), spread?)));
    Table::new(columns, of_requests.chain(of_server))
}
