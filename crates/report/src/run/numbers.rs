//! The few numbers that matter, and the accounts that they rest on.

use super::latency::row_unit;
use super::{RunReport, heading};
use inferometer_core::check::Check;
use inferometer_core::doubt::DoubtCode;
use inferometer_core::record::TokenSource;
use inferometer_core::summary::Distribution;
use inferometer_message::{FigureText, MetricText, NumbersText};
use inferometer_page::doc::{Block, Cell, Column, Pair, Section, Table, Unit};
use inferometer_page::number;
use inferometer_text::punctuation::PunctuationText;

pub(super) fn section(report: &RunReport<'_>) -> Section {
    let first = match report.summary.requests.ok {
        0 => Block::Paragraph(report.say(NumbersText::NothingAnswered).to_owned()),
        _ => Block::Table(table(report)),
    };
    let blocks = vec![first, Block::Pairs(accounts(report))];
    Section::headed(&heading(report, NumbersText::Result), blocks)
}

/// One row: name, value, unit, interval, steady value.
type Row = [Cell; 5];

fn table(report: &RunReport<'_>) -> Table {
    let summary = report.summary;
    let throughput = &summary.throughput;
    // A window that is steady by construction needs no second figure beside it.
    let steady = (summary.steady.as_ref()).filter(|_| !report.has_steady_window());
    let interval = |ends| Interval::of(report, ends, throughput.requests_needed);
    let mut rows: Vec<Row> = vec![rate(
        report.say(MetricText::Requests),
        throughput.requests_per_s,
        Unit::RequestsPerSecond,
        interval(throughput.requests_per_s_interval),
        steady.and_then(|steady| steady.requests_per_s),
    )];
    if throughput.audio_s_per_s.is_some() {
        rows.push(rate(
            report.say(MetricText::Audio),
            throughput.audio_s_per_s,
            Unit::AudioSecondsPerSecond,
            interval(throughput.audio_s_per_s_interval),
            None,
        ));
    }
    let answers = if report.is_of_items() {
        vec![
            rate(
                report.say(MetricText::Items),
                throughput.items_per_s,
                Unit::ItemsPerSecond,
                interval(throughput.items_per_s_interval),
                None,
            ),
            rate(
                report.say(MetricText::InputTokens),
                throughput.input_tokens_per_s,
                Unit::TokensPerSecond,
                Interval::Blank,
                None,
            ),
        ]
    } else {
        vec![
            rate(
                report.say(MetricText::OutputTokens),
                throughput.output_tokens_per_s,
                Unit::TokensPerSecond,
                interval(throughput.output_tokens_per_s_interval),
                steady.and_then(|steady| steady.output_tokens_per_s),
            ),
            rate(
                report.say(MetricText::TotalTokens),
                throughput.total_tokens_per_s,
                Unit::TokensPerSecond,
                Interval::Blank,
                None,
            ),
        ]
    };
    rows.extend(answers);
    let cards = summary
        .cards()
        .filter(|cards| *cards > 1.0 && !report.is_of_items());
    if let Some(cards) = cards {
        let metric = report.say(MetricText::OutputTokens).to_owned();
        let name = report.fill(FigureText::PerCard, &[("metric", metric)]);
        let each = |value: f64| value / cards;
        rows.push(rate(
            &name,
            throughput.output_tokens_per_s.map(each),
            Unit::TokensPerSecond,
            interval((throughput.output_tokens_per_s_interval).map(|ends| ends.map(each))),
            steady
                .and_then(|steady| steady.output_tokens_per_s)
                .map(each),
        ));
    }
    if let Some(slo) = summary
        .slo
        .as_ref()
        .filter(|slo| slo.goodput_per_s.is_some())
    {
        let (name, unit) = (report.say(MetricText::Goodput), Unit::RequestsPerSecond);
        rows.push(rate(name, slo.goodput_per_s, unit, Interval::Blank, None));
    }
    if let Some(check) = &summary.check {
        let name = match report.scenario.objectives.check {
            Some(Check::SameAs(_)) => MetricText::Identical,
            _ => MetricText::Score,
        };
        rows.push(share_row(
            report.say(name),
            check.score,
            check.score_interval,
        ));
    }
    let structured = summary.structured.unwrap_or_default();
    for (name, share, interval) in [
        (
            MetricText::ValidJson,
            structured.valid_json,
            structured.valid_json_interval,
        ),
        (
            MetricText::ValidCalls,
            structured.valid_tool_calls,
            structured.valid_tool_calls_interval,
        ),
    ] {
        if share.is_some() {
            rows.push(share_row(report.say(name), share, interval));
        }
    }
    let latency = &summary.latency;
    let first = if report.is_of_items() { 2 } else { 0 };
    let medians = [
        (MetricText::Ttft, &latency.ttft_ms),
        (MetricText::Tpot, &latency.tpot_ms),
        (MetricText::E2e, &latency.e2e_ms),
    ];
    for (metric, sample) in &medians[first..] {
        let metric = report.say(*metric).to_owned();
        let name = report.fill(NumbersText::Median, &[("metric", metric)]);
        rows.push(median(report, name, sample.as_ref()));
    }
    laid_out(report, rows)
}

/// What stands in the column of intervals.
enum Interval {
    Ends([f64; 2]),
    /// What it would take, in words.
    TooShort(String),
    Blank,
}

impl Interval {
    fn of(report: &RunReport<'_>, ends: Option<[f64; 2]>, needed: Option<u64>) -> Self {
        match (ends, needed) {
            (Some(ends), _) => Interval::Ends(ends),
            // No number of requests would do: what is measured grows with the run.
            (None, Some(_)) if is_overloaded(report) => {
                Interval::TooShort(report.fill(NumbersText::Overloaded, &[]))
            }
            (None, Some(needed)) => {
                let count = ("count", number::count(needed));
                Interval::TooShort(report.fill(NumbersText::TooShort, &[count]))
            }
            (None, None) => Interval::Blank,
        }
    }

    fn cell(self, unit: Unit, decimals: usize) -> Cell {
        match self {
            Interval::Ends(ends) => Cell::range(Some(ends), unit, decimals),
            Interval::TooShort(words) => Cell::text(words),
            Interval::Blank => Cell::blank(),
        }
    }
}

fn is_overloaded(report: &RunReport<'_>) -> bool {
    let mut doubts = report.summary.doubts.iter();
    doubts.any(|doubt| doubt.code == DoubtCode::Overload)
}

fn rate(
    name: &str,
    value: Option<f64>,
    unit: Unit,
    interval: Interval,
    steady: Option<f64>,
) -> Row {
    let decimals = value.map_or(0, number::decimals);
    [
        Cell::text(name),
        Cell::number(value, unit, decimals),
        Cell::text(unit.sign()),
        interval.cell(unit, decimals),
        match steady {
            Some(_) => Cell::number(steady, unit, decimals),
            None => Cell::blank(),
        },
    ]
}

/// From 0 to 1, of answers.
fn share_row(name: &str, share: Option<f64>, interval: Option<[f64; 2]>) -> Row {
    [
        Cell::text(name),
        Cell::number(share, Unit::Count, 3),
        Cell::blank(),
        Cell::range(interval, Unit::Count, 3),
        Cell::blank(),
    ]
}

fn median(report: &RunReport<'_>, name: String, sample: Option<&Distribution>) -> Row {
    let blank = Cell::blank;
    let Some(sample) = sample else {
        return [Cell::text(name), Cell::Absent, blank(), blank(), blank()];
    };
    let (unit, scale, decimals) = row_unit(sample);
    let ends = sample.p50_interval.map(|ends| ends.map(|end| end * scale));
    let interval = Interval::of(report, ends, sample.requests_needed);
    [
        Cell::text(name),
        Cell::number(Some(sample.p50 * scale), unit, decimals),
        Cell::text(unit.sign()),
        interval.cell(unit, decimals),
        blank(),
    ]
}

/// The rows with only those columns that hold something.
fn laid_out(report: &RunReport<'_>, rows: Vec<Row>) -> Table {
    let length = report.summary.steady_s;
    let length = length.map(number::seconds).unwrap_or_default();
    let columns = [
        Column::left(""),
        Column::right(""),
        Column::left(""),
        Column::right(report.say(MetricText::Interval)),
        Column::right(&report.fill(NumbersText::SteadyState, &[("time", length)])),
    ];
    let used: [bool; 5] =
        std::array::from_fn(|column| rows.iter().any(|row| row[column] != Cell::blank()));
    Table::new(
        kept(columns, used),
        rows.into_iter().map(|row| kept(row, used)),
    )
}

fn kept<T>(all: [T; 5], used: [bool; 5]) -> Vec<T> {
    let all = all.into_iter().zip(used);
    all.filter_map(|(one, used)| used.then_some(one)).collect()
}

fn accounts(report: &RunReport<'_>) -> Vec<Pair> {
    let requests = report.summary.requests;
    let values = [
        ("ok", number::count(requests.ok)),
        ("failed", number::count(requests.failed)),
        ("cut", number::count(requests.cut)),
        ("unsent", number::count(requests.unsent)),
        ("planned", number::count(requests.planned)),
    ];
    let mut accounts = report.fill(NumbersText::AccountsOf, &values);
    if requests.resent > 0 {
        let resent = report.fill(
            NumbersText::Resent,
            &[("count", number::count(requests.resent))],
        );
        accounts = report.clauses(&[accounts, resent]);
    }
    if requests.cancelled > 0 {
        let count = [("count", number::count(requests.cancelled))];
        accounts = report.clauses(&[accounts, report.fill(NumbersText::Cancelled, &count)]);
    }
    let mut pairs = vec![Pair::new(report.say(NumbersText::Accounts), accounts)];
    let further = [
        (report.say(MetricText::InFlight), in_flight(report)),
        (report.say(NumbersText::Tokens), tokens(report)),
        (report.say(NumbersText::Lengths), lengths(report)),
        (report.say(NumbersText::Cost), cost(report)),
        (report.say(NumbersText::Check), check(report)),
        (report.say(NumbersText::Media), media(report)),
        (report.say(NumbersText::Structured), structured(report)),
        (report.say(MetricText::PerUser), speed(report)),
        (report.say(NumbersText::Client), client(report)),
    ];
    pairs.extend(
        further
            .into_iter()
            .filter_map(|(key, value)| Some(Pair::new(key, value?))),
    );
    pairs
}

fn cost(report: &RunReport<'_>) -> Option<String> {
    let cost = report.summary.cost?;
    let plain = |value: f64| number::grouped(value, number::decimals(value));
    let mut parts: Vec<String> = [
        (NumbersText::CostPerOutput, cost.per_million_output_tokens),
        (NumbersText::CostPerTokens, cost.per_million_tokens),
        (NumbersText::CostPerItems, cost.per_million_items),
        (NumbersText::CostPerRequests, cost.per_thousand_requests),
    ]
    .into_iter()
    .filter_map(|(text, value)| Some(report.fill(text, &[("cost", plain(value?))])))
    .collect();
    let text = if cost.cards > 1.0 {
        NumbersText::CostOfCards
    } else {
        NumbersText::CostOf
    };
    let price = [
        ("price", number::exact(cost.price_per_hour)),
        ("cards", number::exact(cost.cards)),
    ];
    parts.push(report.fill(text, &price));
    Some(report.clauses(&parts))
}

fn count(value: Option<u64>) -> String {
    value.map_or(number::ABSENT.to_owned(), number::count)
}

fn in_flight(report: &RunReport<'_>) -> Option<String> {
    let concurrency = report.summary.concurrency;
    let mut values = vec![
        ("mean", number::mean(concurrency.mean?)),
        ("peak", count(concurrency.peak)),
    ];
    Some(match concurrency.configured {
        Some(configured) => {
            values.push(("configured", number::count(u64::from(configured))));
            report.fill(NumbersText::InFlightOf, &values)
        }
        None => report.fill(NumbersText::InFlightFree, &values),
    })
}

fn tokens(report: &RunReport<'_>) -> Option<String> {
    if report.summary.requests.ok == 0 {
        return None;
    }
    let tokens = report.summary.tokens;
    if report.is_of_items() {
        let totals = [
            ("items", count(report.summary.items)),
            ("input", count(tokens.input)),
        ];
        return Some(report.fill(NumbersText::ItemsOf, &totals));
    }
    let totals = [
        ("input", count(tokens.input)),
        ("output", count(tokens.output)),
    ];
    let source = match tokens.source {
        TokenSource::Usage => NumbersText::CountedByServer,
        TokenSource::Retokenized => NumbersText::CountedByUs,
        TokenSource::None => NumbersText::NotCounted,
    };
    let mut parts = vec![
        report.fill(NumbersText::TokensOf, &totals),
        report.say(source).to_owned(),
    ];
    if let (Some(cached), Some(input)) = (tokens.cached, tokens.input.filter(|&input| input > 0)) {
        let share = number::percent(cached as f64 / input as f64);
        parts.push(report.fill(NumbersText::CachedShare, &[("share", share)]));
    }
    Some(report.clauses(&parts))
}

fn lengths(report: &RunReport<'_>) -> Option<String> {
    let tokens = report.summary.tokens;
    let said = |mean: Option<f64>, asked: Option<f64>, plain, against| {
        let mean = ("mean", number::mean(mean?));
        Some(match asked {
            Some(asked) => report.fill(against, &[mean, ("asked", number::mean(asked))]),
            None => report.fill(plain, &[mean]),
        })
    };
    let parts = [
        said(
            tokens.input_mean,
            tokens.input_asked_mean,
            NumbersText::InputLength,
            NumbersText::InputLengthAsked,
        ),
        said(
            tokens.output_mean,
            tokens.output_asked_mean,
            NumbersText::OutputLength,
            NumbersText::OutputLengthAsked,
        ),
        tokens
            .chars_per_token
            .map(|mean| report.fill(NumbersText::CharsPerToken, &[("mean", number::brief(mean))])),
    ];
    report.known(PunctuationText::Comma, parts)
}

/// What was checked, and how much of it could be.
fn check(report: &RunReport<'_>) -> Option<String> {
    let check = report.summary.check.as_ref()?;
    let differs = check.differs_at_p50.map(|chars| {
        let values = [("chars", number::mean(chars))];
        report.fill(NumbersText::DiffersAt, &values)
    });
    let unchecked = (check.unchecked > 0).then(|| {
        let values = [("count", number::count(check.unchecked))];
        report.fill(NumbersText::Unchecked, &values)
    });
    let values = [
        ("count", number::count(check.checked)),
        ("check", check.check.clone()),
    ];
    let checked = Some(report.fill(NumbersText::Checked, &values));
    report.known(PunctuationText::Semicolon, [checked, differs, unchecked])
}

fn media(report: &RunReport<'_>) -> Option<String> {
    let media = report.summary.media?;
    let values = [
        ("parts", number::count(media.parts)),
        ("requests", number::count(media.requests)),
    ];
    let uploaded = media.upload_bytes.map(|bytes| {
        let each = number::count(bytes / media.requests.max(1));
        let values = [("bytes", number::count(bytes)), ("each", each)];
        report.fill(NumbersText::Uploaded, &values)
    });
    let tokens = match media.media_tokens {
        Some(tokens) => report.fill(
            NumbersText::MediaTokens,
            &[("tokens", number::count(tokens))],
        ),
        None => report.say(NumbersText::NoMediaTokens).to_owned(),
    };
    let mut parts = vec![report.fill(NumbersText::MediaOf, &values)];
    parts.extend(uploaded);
    parts.extend(media.audio_s.map(|seconds| {
        let seconds = number::grouped(seconds, number::decimals(seconds));
        report.fill(NumbersText::AudioOf, &[("seconds", seconds)])
    }));
    parts.push(tokens);
    Some(report.clauses(&parts))
}

/// What was asked for, and where to read what came otherwise.
fn structured(report: &RunReport<'_>) -> Option<String> {
    let found = report.summary.structured?;
    let json = [("count", number::count(found.json_asked))];
    let tools = [
        ("offered", number::count(found.tools_offered)),
        ("called", number::count(found.with_calls)),
        ("calls", number::count(found.tool_calls)),
    ];
    let is_less = |share: Option<f64>| share.is_some_and(|share| share < 1.0);
    let invalid = is_less(found.valid_json) || is_less(found.valid_tool_calls);
    let parts = [
        (found.json_asked > 0).then(|| report.fill(NumbersText::JsonAsked, &json)),
        (found.tools_offered > 0).then(|| report.fill(NumbersText::ToolsOffered, &tools)),
        invalid.then(|| report.say(NumbersText::InvalidKept).to_owned()),
    ];
    report.known(PunctuationText::Semicolon, parts)
}

/// As one user gets the tokens. Here the smallest value is the worst, so it is shown in place
/// of a high percentile.
fn speed(report: &RunReport<'_>) -> Option<String> {
    let speed = &report.summary.speed;
    let said = |label, found: &Option<Distribution>| {
        let found = found.as_ref()?;
        let values = [
            ("mean", number::brief(found.mean)),
            ("median", number::brief(found.p50)),
            ("least", number::brief(found.min)),
        ];
        Some(report.fill(label, &values))
    };
    let parts = [
        said(NumbersText::PerUserOf, &speed.per_user_tokens_per_s),
        said(NumbersText::DecodeOf, &speed.decode_tokens_per_s),
    ];
    report.known(PunctuationText::Semicolon, parts)
}

fn client(report: &RunReport<'_>) -> Option<String> {
    let client = report.summary.client;
    let share =
        |label, share: Option<f64>| Some(report.fill(label, &[("share", number::percent(share?))]));
    let lag = client.lag_p99_ms.filter(|_| report.is_open());
    let parts = [
        lag.map(|lag| report.fill(NumbersText::ClientLag, &[("lag", number::millis(lag))])),
        share(NumbersText::ClientCpu, client.cpu_share),
        share(NumbersText::ClientCeiling, client.ceiling_share),
        (client.pulse_p99_ms)
            .map(|late| report.fill(NumbersText::ClientPulse, &[("late", number::millis(late))])),
    ];
    report.known(PunctuationText::Comma, parts)
}
