//! Imported results in the form of our own summaries, for whatever draws, compares or judges runs.

use crate::brackets::without_brackets;
use crate::copies::repeats;
use crate::doubt::ImportDoubtCode;
use crate::facts::{VERSION, without_server};
use crate::group::{ResultGroup, groups, load};
use crate::result::{ImportedResult, Tool};
use crate::summary::{ImportedSummary, Spread};
use inferometer_core::point::{GROUP, Point};
use inferometer_core::record::TokenSource;
use inferometer_core::summary::{
    Accounts, Client, Concurrency, Distribution, Latencies, SCHEMA, SloResult, Speed, StatedDoubt,
    Summary, Throughput, Tokens,
};
use std::collections::{BTreeMap, BTreeSet};

/// A result that was measured, with a load that tells it from the others of its group.
pub struct MeasuredResult<'a> {
    pub place: usize,
    pub point: Point,
    pub found: &'a ImportedResult,
}

/// Results of one card, where `results` have one test on several.
pub struct ResultsOfCard {
    /// Absent where the results need not be told apart by their cards, and for those that name none.
    pub card: Option<String>,
    pub results: Vec<ImportedResult>,
}

/// Results by their cards, in the order of the first of each, where two groups of one model and one
/// last heading, but for what stands in its brackets, were measured on different cards: each is then a
/// side of its own. Else all together.
pub fn by_card(results: &[ImportedResult]) -> Vec<ResultsOfCard> {
    let card = |found: &ImportedResult| found.facts.get("card").cloned();
    let mut cards_of: BTreeMap<String, BTreeSet<Option<String>>> = BTreeMap::new();
    for group in groups(results) {
        let (test, _) = without_brackets(&with_model(results, &group));
        let cards = cards_of.entry(test).or_default();
        cards.extend(group.members.iter().map(|at| card(&results[*at])));
    }
    if cards_of.values().all(|cards| cards.len() < 2) {
        let results = results.to_vec();
        return vec![ResultsOfCard {
            card: None,
            results,
        }];
    }
    let mut parts: Vec<ResultsOfCard> = Vec::new();
    for found in results {
        let card = card(found);
        match parts.iter_mut().find(|part| part.card == card) {
            Some(part) => part.results.push(found.clone()),
            None => parts.push(ResultsOfCard {
                card,
                results: vec![found.clone()],
            }),
        }
    }
    parts
}

/// What was measured, of every group, which the point names by its model and its last heading:
/// groups of other results have the same where they measured the same. What is invalid is there, too:
/// who compares says so.
pub fn measured(results: &[ImportedResult]) -> Vec<MeasuredResult<'_>> {
    let repeats = repeats(results);
    let of = |(group, name): (ResultGroup, String)| {
        let mut measured = with_points(&group, all_in(results, &repeats, &group));
        for it in &mut measured {
            put_in_group(&mut it.point, &name);
        }
        measured
    };
    named_groups(results).into_iter().flat_map(of).collect()
}

/// Loads at which a server ran out of memory, of every group, likewise.
pub fn out_of_memory(results: &[ImportedResult]) -> Vec<Point> {
    let of = |(group, name): (ResultGroup, String)| {
        let members = group.members.into_iter().map(|at| &results[at]);
        let exhausted = members.filter(|found| found.is_out_of_memory_under_load());
        let points = exhausted.map(move |found| {
            let mut point = own_point(found);
            put_in_group(&mut point, &name);
            point
        });
        points.collect::<Vec<Point>>()
    };
    named_groups(results).into_iter().flat_map(of).collect()
}

fn put_in_group(point: &mut Point, name: &str) {
    if !name.is_empty() {
        point.0.insert(GROUP.to_owned(), name.into());
    }
}

/// Groups by their tests, where these tell them apart, else by their models and last headings, else by
/// their titles.
fn named_groups(results: &[ImportedResult]) -> Vec<(ResultGroup, String)> {
    let groups = groups(results);
    let namings: [Vec<String>; 2] =
        [of_test, with_model].map(|name| groups.iter().map(|group| name(results, group)).collect());
    let is_alone = |names: &[String], at: usize| {
        let mut others = names.iter().enumerate();
        !others.any(|(other, name)| other != at && *name == names[at])
    };
    let names: Vec<String> = (groups.iter().enumerate())
        .map(|(at, group)| {
            let mut apart = namings.iter().filter(|names| is_alone(names, at));
            apart
                .next()
                .map_or(&group.title, |names| &names[at])
                .clone()
        })
        .collect();
    groups.into_iter().zip(names).collect()
}

/// What a group measured, whoever served it: its model, and the last heading that says more than a
/// server.
fn of_test(results: &[ImportedResult], group: &ResultGroup) -> String {
    let Some(first) = group.members.first().map(|place| &results[*place]) else {
        return String::new();
    };
    let headings = group.headings(first).iter().rev();
    let last = group.headings(first).last().map(|it| without_server(it));
    match first.facts.get("model") {
        // Headings around that of a server are those of its model.
        Some(model) if last.as_deref() == Some("") => model.clone(),
        Some(_) if last.as_ref() == group.headings(first).last() => with_model(results, group),
        Some(model) => format!("{model} / {}", last.unwrap_or_default()),
        None => {
            let mut said = headings.map(|it| without_server(it));
            said.find(|it| !it.is_empty()).unwrap_or(group.name.clone())
        }
    }
}

/// The last heading of a group, with the model where that stands in another one.
fn with_model(results: &[ImportedResult], group: &ResultGroup) -> String {
    let first = group.members.first().map(|place| &results[*place]);
    match first.and_then(|found| found.facts.get("model")) {
        Some(model) if group.name.is_empty() => model.clone(),
        Some(model) if !group.name.contains(model.as_str()) => {
            format!("{model} / {}", group.name)
        }
        _ => group.name.clone(),
    }
}

/// What was measured of a group. A table that says the same as the blocks beside it, by [`repeats`],
/// is left out, and so is what is invalid where a valid result of its load stands.
pub fn measured_in<'a>(
    results: &'a [ImportedResult],
    repeats: &[Option<usize>],
    group: &ResultGroup,
) -> Vec<MeasuredResult<'a>> {
    with_points(group, without_void(all_in(results, repeats, group)))
}

type Placed<'a> = (usize, &'a ImportedResult);

fn all_in<'a>(
    results: &'a [ImportedResult],
    repeats: &[Option<usize>],
    group: &ResultGroup,
) -> Vec<Placed<'a>> {
    let measured = (group.members.iter().copied())
        .filter(|place| results[*place].summary.is_some() && repeats[*place].is_none());
    let measured: Vec<Placed<'_>> = measured.map(|place| (place, &results[place])).collect();
    // What its author doubts is not held against anything where he measured it again.
    let key = |found: &ImportedResult| (name(group, found), setting(found));
    let is_trusted = |found: &ImportedResult| {
        found.said_doubtful.is_none() && found.summary.as_ref().is_some_and(|it| it.valid)
    };
    let trusted = measured.iter().filter(|(_, found)| is_trusted(found));
    let trusted: BTreeSet<_> = trusted.map(|(_, found)| key(found)).collect();
    let counts =
        |(_, found): &Placed<'_>| found.said_doubtful.is_none() || !trusted.contains(&key(found));
    measured.into_iter().filter(counts).collect()
}

fn with_points<'a>(group: &ResultGroup, measured: Vec<Placed<'a>>) -> Vec<MeasuredResult<'a>> {
    let named: Vec<(String, &ImportedResult)> = (measured.iter())
        .map(|(_, found)| (name(group, found), *found))
        .collect();
    let results = points(&named).into_iter().zip(measured);
    results
        .map(|(point, (place, found))| MeasuredResult {
            place,
            point,
            found,
        })
        .collect()
}

/// Fewest loads of a ladder.
const LADDER: usize = 3;

/// A ladder without results that are invalid where a valid one of the same load and flags stands:
/// somebody kept what had gone wrong, and measured again.
fn without_void(mut measured: Vec<Placed<'_>>) -> Vec<Placed<'_>> {
    let is_valid = |found: &ImportedResult| found.summary.as_ref().is_some_and(|it| it.valid);
    let loads: BTreeSet<String> = measured.iter().map(|(_, found)| load(found)).collect();
    if loads.len() < LADDER {
        return measured;
    }
    let valid = measured.iter().filter(|(_, found)| is_valid(found));
    let valid: BTreeSet<String> = valid.map(|(_, found)| setting(found)).collect();
    measured.retain(|(_, found)| is_valid(found) || !valid.contains(&setting(found)));
    measured
}

/// What two results have in common that are repeats of each other.
fn setting(found: &ImportedResult) -> String {
    let facts = SETTINGS.map(|fact| found.facts.get(fact));
    format!("{:?}", (load(found), &found.flags, facts))
}

/// Results of one load and setting of each group, where there are several: repeats, unless rows
/// of their table differ in a column that was not read.
pub(crate) fn repeated(results: &[ImportedResult]) -> Vec<Vec<usize>> {
    let copies = repeats(results);
    let mut alike: BTreeMap<(usize, String, String), Vec<usize>> = BTreeMap::new();
    for (at, group) in groups(results).into_iter().enumerate() {
        for &place in &group.members {
            let found = &results[place];
            let is_told_apart = found.tool == Tool::MarkdownTable && !found.unread.is_empty();
            if found.summary.is_some() && copies[place].is_none() && !is_told_apart {
                // What was set says more than what a block is called.
                let name = if found.flags.is_some() && found.tool != Tool::MarkdownTable {
                    String::new()
                } else {
                    name(&group, found)
                };
                let key = (at, name, setting(found));
                alike.entry(key).or_default().push(place);
            }
        }
    }
    alike.into_values().filter(|it| it.len() > 1).collect()
}

/// What a result is called within its group.
fn name(group: &ResultGroup, found: &ImportedResult) -> String {
    match group.own_headings(found) {
        [] => found.label.clone().unwrap_or_default(),
        own => own.join(" / "),
    }
}

/// Facts by which results of one load are never repeats of each other.
const SETTINGS: [&str; 2] = [VERSION, "template"];

/// Loads of results. Those of one load are told apart by their flags, by the version of the engine
/// and the template of the prompts, else by their names: notes hold what was changed, and only what
/// was not is a repeat. Rows of one table differ in something, even if the table does not say in
/// what.
fn points(results: &[(String, &ImportedResult)]) -> Vec<Point> {
    let mut by_load: BTreeMap<String, Vec<(&str, &ImportedResult)>> = BTreeMap::new();
    for (name, found) in results {
        by_load.entry(load(found)).or_default().push((name, found));
    }
    let mut varying: BTreeSet<String> = BTreeSet::new();
    let mut named = false;
    let mut settings = SETTINGS.to_vec();
    settings.retain(|fact| {
        let differ = |group: &Vec<(&str, &ImportedResult)>| {
            let values = group.iter().map(|(_, found)| found.facts.get(*fact));
            values.collect::<BTreeSet<_>>().len() > 1
        };
        by_load.values().any(differ)
    });
    for group in by_load.values() {
        // What differs between any two differs from the first.
        let mut flags = group.iter().filter_map(|(_, found)| found.flags.as_ref());
        if let Some(first) = flags.next() {
            for other in flags {
                let names = first.keys().chain(other.keys());
                let differing = names.filter(|name| first.get(*name) != other.get(*name));
                varying.extend(differing.cloned());
            }
        }
        if let Some((bare, _)) = group.iter().find(|(_, found)| found.flags.is_none()) {
            named |= group.iter().any(|(other, _)| other != bare);
        }
    }
    let points = results.iter().map(|(name, found)| {
        let Point(mut point) = own_point(found);
        // Some tools call a closed loop a rate without limit.
        if point.contains_key("concurrency") && point.get("rate").is_some_and(|it| it == "inf") {
            point.remove("rate");
        }
        let flags = found.flags.iter().flatten();
        let varied = flags.filter(|(name, _)| varying.contains(*name));
        point.extend(varied.map(|(name, value)| (name.clone(), value.clone())));
        let facts = settings.iter();
        let facts = facts.filter_map(|fact| Some((*fact, found.facts.get(*fact)?)));
        point.extend(facts.map(|(fact, value)| (fact.to_owned(), value.as_str().into())));
        if named && !name.is_empty() {
            point.insert("name".to_owned(), name.as_str().into());
        }
        Point(point)
    });
    with_rows(results, points.collect())
}

/// The load of a result, as our own options are spelled, so that loads can meet.
fn own_point(found: &ImportedResult) -> Point {
    let own = found.load_point().into_iter();
    let own = own.map(|(axis, value)| (axis.replace('_', "-"), value));
    Point(own.collect())
}

/// Adds their number to rows of one table that nothing else tells apart; rows that give settings
/// and agree in all are repeats.
fn with_rows(results: &[(String, &ImportedResult)], mut points: Vec<Point>) -> Vec<Point> {
    let mut by_point = BTreeMap::<_, Vec<usize>>::new();
    for (at, ((_, found), point)) in results.iter().zip(&points).enumerate() {
        let tells_settings = found.flags.is_some() && found.command.is_none();
        let is_whole = tells_settings && found.unread.is_empty();
        let is_table = matches!(found.tool, Tool::MarkdownTable | Tool::Guidellm);
        if is_table && !(is_whole && results.iter().all(|(_, it)| it.label == found.label)) {
            let key = (found.file.as_str(), found.lines, point.key());
            by_point.entry(key).or_default().push(at);
        }
    }
    let is_first = |at: &&usize| !results[**at].1.said_again;
    let several = |places: &Vec<usize>| places.iter().filter(is_first).count() > 1;
    for places in by_point.into_values().filter(several) {
        for (row, at) in places.into_iter().enumerate() {
            points[at].0.insert("row".to_owned(), (row + 1).into());
        }
    }
    points
}

impl ImportedSummary {
    /// The same numbers as a summary of ours. A sample's numbers that the tool does not give
    /// are NaN, which readers skip, as are
    /// percentiles that are copies of one number; a sample of unknown size supports no tail; requests are
    /// accounted for only where failures are reported, or where none can have failed.
    pub fn to_summary(&self) -> Summary {
        let (throughput, tokens) = (self.throughput, &self.tokens);
        let latency = &self.latency;
        // Without a stream there is no first token.
        let is_whole = (self.doubts.iter()).any(|it| it.code == ImportDoubtCode::NotStreamed);
        let streamed = |spread: &Option<Spread>| sample(spread).filter(|_| !is_whole);
        let doubts = self.doubts.iter().filter_map(|doubt| {
            Some(StatedDoubt {
                code: doubt.code.name().parse().ok()?,
                severity: doubt.severity,
                text: doubt.text.clone(),
                remedy: doubt.remedy.clone(),
            })
        });
        Summary {
            schema: SCHEMA.to_owned(),
            label: self.label.clone(),
            tags: self.tags.clone(),
            valid: self.valid,
            doubts: doubts.collect(),
            requests: self.accounts().unwrap_or_default(),
            window_s: self.window_s,
            window: None,
            outages: Vec::new(),
            steady_s: None,
            throughput: Throughput {
                requests_per_s: throughput.requests_per_s,
                input_tokens_per_s: throughput.input_tokens_per_s,
                output_tokens_per_s: throughput.output_tokens_per_s,
                total_tokens_per_s: throughput.total_tokens_per_s,
                input_chars_per_s: throughput.input_chars_per_s,
                output_chars_per_s: throughput.output_chars_per_s,
                ..Throughput::default()
            },
            steady: None,
            concurrency: Concurrency {
                configured: (self.concurrency.configured).and_then(|n| u32::try_from(n).ok()),
                mean: self.concurrency.mean,
                peak: self.concurrency.peak,
            },
            latency: Latencies {
                ttft_ms: streamed(&latency.ttft_ms),
                tpot_ms: streamed(&latency.tpot_ms),
                // Gaps are many; how many answers they are of is known.
                itl_ms: streamed(&latency.itl_ms).map(|itl| Distribution {
                    n: itl.n.max(self.requests.ok.unwrap_or_default()),
                    ..itl
                }),
                max_gap_ms: streamed(&latency.max_gap_ms),
                e2e_ms: sample(&latency.e2e_ms),
                ..Latencies::default()
            },
            speed: Speed {
                per_user_tokens_per_s: sample(&self.speed.per_user_tokens_per_s),
                ..Speed::default()
            },
            tokens: Tokens {
                input: tokens.input,
                output: tokens.output,
                source: TokenSource::None,
                cached: None,
                input_asked_mean: None,
                input_mean: tokens.input_mean,
                output_asked_mean: tokens.output_asked,
                output_mean: tokens.output_mean,
                chars_per_token: tokens.chars_per_token,
            },
            items: None,
            failures: Vec::new(),
            slo: self.slo.map(|slo| SloResult {
                attainment: slo.attainment,
                attainment_interval: None,
                goodput_per_s: slo.goodput_per_s,
                jobs: None,
                objectives: Vec::new(),
                met: None,
            }),
            client: Client::default(),
            server: None,
            drift: None,
            continuation: None,
            check: None,
            models: Vec::new(),
            sessions: None,
            cost: None,
            structured: None,
            media: None,
        }
    }

    fn accounts(&self) -> Option<Accounts> {
        let requests = self.requests;
        let planned = requests.planned;
        // Of a table that states neither, all that is known is how many were to be sent.
        let neither = || Accounts {
            planned: planned.unwrap_or_default(),
            ..Accounts::default()
        };
        // A share of a number that is stated is a number.
        let known = requests.failed.or(requests.failed_share.and(planned));
        let counted = requests.ok.or(known.and(requests.answered()));
        let Some(ok) = counted else {
            return Some(neither());
        };
        let by_share = || requests.failed_share.and(Some(planned?.saturating_sub(ok)));
        // Where all that were planned were answered, none failed, whether the tool says so or not.
        let none_failed = || (planned? == ok).then_some(0);
        let failed = requests.failed.or_else(by_share).or_else(none_failed)?;
        Some(Accounts {
            planned: planned.unwrap_or(ok.saturating_add(failed)),
            ok,
            failed,
            ..Accounts::default()
        })
    }
}

fn sample(spread: &Option<Spread>) -> Option<Distribution> {
    let known = |value: Option<f64>| value.unwrap_or(f64::NAN);
    let spread = spread.as_ref().map(Spread::without_copies);
    spread.map(|spread| Distribution {
        n: spread.n.unwrap_or_default(),
        mean: known(spread.mean),
        std: spread.std,
        min: known(spread.min),
        p50: known(spread.p50),
        p75: known(spread.p75),
        p90: known(spread.p90),
        p95: known(spread.p95),
        p99: known(spread.p99),
        max: known(spread.max),
        independent: None,
        answers: None,
        mean_interval: None,
        p50_interval: None,
        p99_interval: None,
        requests_needed: None,
    })
}
