//! The list that `inferometer runs` shows: one line per run, sweep or search, the newest
//! first.

use crate::columns;
use crate::csv::{field, harmless};
use inferometer_core::scenario::Shape;
use inferometer_core::summary::{Quantity, Summary, SummaryColumns};
use inferometer_message::{RunsText, SetupText, SiteText, SweepText, VerdictText};
use inferometer_page::doc::{Block, Cell, Column, Doc, Section, Table, Tone};
use inferometer_page::number;
use inferometer_text::Lang;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// Name and version of the form that `runs --format json` prints.
pub const SCHEMA: &str = "inferometer.runs/1";

/// Columns of figures unless others are chosen.
const USUAL: &str = "req_per_s,tok_per_s,items_per_s,ttft.p50";

/// What is known of one stored run, sweep or search; what cannot be read is absent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct KnownResult {
    pub name: String,
    /// Its folder, as `report` and `compare` take it.
    pub path: PathBuf,
    /// The user's name for it.
    pub label: Option<String>,
    /// Facts given by the user.
    pub tags: BTreeMap<String, String>,
    /// What answered, as its first run has it; of an import all that are named.
    pub models: BTreeSet<String>,
    pub engines: BTreeSet<String>,
    /// What else it is found by.
    pub words: Vec<String>,
    /// Wall time of its beginning, RFC 3339.
    pub started: Option<String>,
    pub state: RunState,
    /// What it is, and how large.
    pub what: Listed,
    /// Where its figures were measured, if it is a sweep.
    pub point: Option<String>,
    /// Its figures: of a sweep those of its best point within the objectives, of a search the confirmed run's.
    pub figures: Option<Summary>,
    /// Whether the simulated engine was computed in virtual time, and nothing measured.
    pub computed: bool,
    /// What became of its points, if it is a sweep.
    pub tally: PointTally,
    /// A few values that show its course, as [`Listed::curve`] names them.
    pub curve: Vec<f64>,
}

impl KnownResult {
    pub fn new(name: &str, what: Listed, state: RunState) -> Self {
        KnownResult {
            name: name.to_owned(),
            path: PathBuf::new(),
            label: None,
            tags: BTreeMap::new(),
            models: BTreeSet::new(),
            engines: BTreeSet::new(),
            words: Vec::new(),
            started: None,
            state,
            what,
            point: None,
            figures: None,
            computed: false,
            tally: PointTally::default(),
            curve: Vec::new(),
        }
    }

    /// Whether it has come to its end. What has not may be about to go on, which changes none of
    /// its files.
    pub fn is_final(&self) -> bool {
        !matches!(self.state, RunState::Running | RunState::Unfinished)
    }

    /// Its files are not as they were written: no figure of it is to be believed.
    pub fn mark_damaged(&mut self) {
        self.state = RunState::Damaged;
        self.figures = None;
    }

    /// Requests and output tokens a second.
    pub fn rates(&self) -> [Option<f64>; 2] {
        let rates = self.figures.as_ref().map(|summary| &summary.throughput);
        [
            rates.and_then(|rates| rates.requests_per_s),
            rates.and_then(|rates| rates.output_tokens_per_s),
        ]
    }

    fn ttft_p50(&self) -> Option<f64> {
        Some(self.figures.as_ref()?.latency.ttft_ms?.p50)
    }

    pub fn ttft_median(&self) -> Option<String> {
        self.ttft_p50().map(number::whole_millis)
    }

    /// Requests that failed, of those that its figures are of.
    fn failed(&self) -> Option<u64> {
        Some(self.figures.as_ref()?.requests.failed)
    }

    fn objectives_met(&self) -> Option<bool> {
        self.figures.as_ref()?.slo.as_ref()?.met
    }

    /// What its verdict alone does not say: a run is valid although requests failed or objectives
    /// were missed.
    pub fn flaws(&self, lang: Lang) -> Vec<String> {
        let failed = self.failed().filter(|failed| *failed > 0);
        let failed = failed.map(|it| RunsText::Failed.with(lang, &[("count", it.to_string())]));
        let missed = self.objectives_met() == Some(false);
        let missed = missed.then(|| RunsText::SloMissed.text(lang).to_owned());
        let tally = self.tally;
        let missed = match tally.missed {
            0 => missed,
            count => Some(of_all(
                SweepText::MissesObjectives,
                count,
                tally.judged,
                lang,
            )),
        };
        let passed = [
            (SweepText::RefusedOf, tally.refused),
            (SweepText::SkippedOf, tally.skipped),
        ];
        let passed = passed.into_iter().filter(|(_, count)| *count > 0);
        let passed = passed.map(|(text, count)| of_all(text, count, tally.visits, lang));
        failed.into_iter().chain(passed).chain(missed).collect()
    }

    /// The minute of its beginning.
    pub fn when(&self) -> String {
        self.started.as_deref().map(minute).unwrap_or_default()
    }
}

/// What the verdict on a sweep alone does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PointTally {
    pub visits: usize,
    /// Visits that were not made: the engine refuses the flags, or a condition ended the ladder.
    pub refused: usize,
    pub skipped: usize,
    /// Points that were held against objectives, and those that miss them.
    pub judged: usize,
    pub missed: usize,
}

fn of_all(text: SweepText, count: usize, all: usize, lang: Lang) -> String {
    text.with(
        lang,
        &[("count", count.to_string()), ("all", all.to_string())],
    )
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Listed {
    /// A run and its load; absent where that cannot be read.
    Run(Option<RunLoad>),
    /// A sweep; its figures are those of its best valid one.
    Sweep { points: usize },
    /// A search for the highest load, and what it found.
    Capacity {
        /// `rate` or `concurrency`.
        over: String,
        /// The load; absent where none can be claimed.
        value: Option<f64>,
    },
    /// A study of launch flags; its figures are those of its best configuration.
    Study { trials: usize },
    /// Results of another tool.
    Import { results: usize },
    /// Several of them, compared.
    Comparison { sides: usize },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunLoad {
    /// `rate` or `concurrency`.
    pub over: String,
    /// In a few characters: `c64`, `5/s`, `inf`, `5/s c32`.
    text: String,
}

impl From<&Shape> for RunLoad {
    fn from(shape: &Shape) -> Self {
        let (over, text) = match shape {
            Shape::Closed { concurrency, .. } => ("concurrency", format!("c{concurrency}")),
            Shape::Replay { speed, .. } => ("rate", format!("trace {}x", number::exact(*speed))),
            Shape::Open {
                rate,
                max_concurrency,
                ..
            } => {
                let rate = if rate.is_infinite() {
                    "inf".to_owned()
                } else {
                    format!("{}/s", number::exact(rate.0))
                };
                let cap = max_concurrency.map(|cap| format!(" c{cap}"));
                ("rate", rate + &cap.unwrap_or_default())
            }
        };
        RunLoad {
            over: over.to_owned(),
            text,
        }
    }
}

impl Listed {
    /// What the small curve of such a result shows.
    pub fn curve(&self) -> SiteText {
        match self {
            Listed::Run(_) => SiteText::CurveOfRun,
            Listed::Sweep { .. } | Listed::Import { .. } => SiteText::CurveOfLadder,
            Listed::Capacity { .. } => SiteText::CurveOfSearch,
            Listed::Study { .. } => SiteText::CurveOfStudy,
            Listed::Comparison { .. } => SiteText::CurveOfComparison,
        }
    }

    pub fn kind(&self) -> RunsText {
        match self {
            Listed::Run(_) => RunsText::Run,
            Listed::Sweep { .. } => RunsText::Sweep,
            Listed::Capacity { .. } => RunsText::Capacity,
            Listed::Study { .. } => RunsText::Study,
            Listed::Import { .. } => RunsText::Import,
            Listed::Comparison { .. } => RunsText::Comparison,
        }
    }

    /// The load in a few characters.
    pub fn load(&self, lang: Lang) -> String {
        match self {
            Listed::Run(load) => (load.as_ref()).map_or_else(String::new, |it| it.text.clone()),
            Listed::Sweep { points } => {
                RunsText::Points.with(lang, &[("count", points.to_string())])
            }
            Listed::Study { trials } => {
                RunsText::Trials.with(lang, &[("count", trials.to_string())])
            }
            Listed::Import { results } => {
                RunsText::Results.with(lang, &[("count", results.to_string())])
            }
            Listed::Comparison { sides } => {
                RunsText::Sides.with(lang, &[("count", sides.to_string())])
            }
            Listed::Capacity { value: None, .. } => number::ABSENT.to_owned(),
            Listed::Capacity {
                over,
                value: Some(value),
            } => match over.as_str() {
                "concurrency" => format!("≤ c{}", number::exact(*value)),
                _ => format!("≤ {}/s", number::brief(*value)),
            },
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case", const_into_str)]
pub enum RunState {
    /// It has a summary without a grave doubt.
    Valid,
    /// It has a summary with one.
    Invalid,
    /// What a comparison says of the sides that were compared with the first.
    Better,
    Worse,
    Same,
    CannotTell,
    /// A study that came to its end, and none of whose settings met the goal.
    NothingFound,
    /// What else a study says.
    ComputedGain,
    NoCertainGain,
    TradeOff,
    DefaultBest,
    OnlyDefault,
    DefaultMisses,
    ComputedMisses,
    DefaultFails,
    Unconfirmed,
    /// It goes on.
    Running,
    /// It has no summary, and nothing goes on.
    Unfinished,
    /// A file of it is not as it was written.
    Damaged,
    /// A later version has written it.
    Newer,
    /// It is another tool's.
    Foreign,
    /// The same, with doubts about some of it.
    Doubtful,
}

impl RunState {
    pub fn text(self) -> VerdictText {
        match self {
            RunState::Valid => VerdictText::Valid,
            RunState::Invalid => VerdictText::Invalid,
            RunState::Better => VerdictText::Better,
            RunState::Worse => VerdictText::Worse,
            RunState::Same => VerdictText::Same,
            RunState::CannotTell => VerdictText::CannotTell,
            RunState::NothingFound => VerdictText::NothingFound,
            RunState::ComputedGain => VerdictText::ComputedGain,
            RunState::NoCertainGain => VerdictText::NoCertainGain,
            RunState::TradeOff => VerdictText::TradeOff,
            RunState::DefaultBest => VerdictText::DefaultBest,
            RunState::OnlyDefault => VerdictText::OnlyDefault,
            RunState::DefaultMisses => VerdictText::DefaultMisses,
            RunState::ComputedMisses => VerdictText::ComputedMisses,
            RunState::DefaultFails => VerdictText::DefaultFails,
            RunState::Unconfirmed => VerdictText::Unconfirmed,
            RunState::Running => VerdictText::Running,
            RunState::Unfinished => VerdictText::Unfinished,
            RunState::Damaged => VerdictText::Damaged,
            RunState::Newer => VerdictText::Newer,
            RunState::Foreign => VerdictText::Foreign,
            RunState::Doubtful => VerdictText::Doubtful,
        }
    }
}

/// The list for programs, the newest first.
pub fn value(runs: &[KnownResult]) -> Value {
    let run = |run: &KnownResult| {
        let [requests, tokens] = run.rates();
        json!({
            "name": run.name,
            "path": run.path,
            "started": run.started,
            "kind": run.what.kind().text(Lang::En),
            "state": run.state.into_str(),
            "load": run.what.load(Lang::En),
            "label": run.label,
            "tags": run.tags,
            "point": run.point,
            "computed": run.computed,
            "requests_per_s": requests,
            "output_tokens_per_s": tokens,
            "ttft_p50_ms": run.ttft_p50(),
            "failed": run.failed(),
            "objectives_met": run.objectives_met(),
        })
    };
    let runs: Vec<Value> = newest_first(runs).into_iter().map(run).collect();
    json!({ "schema": SCHEMA, "runs": runs })
}

/// The list for spreadsheets, with names of columns that do not change, or those that were chosen.
pub fn csv(runs: &[KnownResult], chosen: Option<&SummaryColumns>) -> String {
    let figures = chosen.map_or_else(
        || "requests_per_s,output_tokens_per_s,ttft_p50_ms".to_owned(),
        |chosen| {
            let names = chosen.0.iter().map(ToString::to_string);
            names.collect::<Vec<_>>().join(",")
        },
    );
    let mut out = format!("name,path,started,kind,state,load,label,{figures}\r\n");
    for run in newest_first(runs) {
        let text = |text: &str| field(&harmless(text));
        let real = |value: Option<f64>| value.map(|it| it.to_string()).unwrap_or_default();
        let [requests, tokens] = run.rates();
        let figures = match chosen {
            Some(chosen) => chosen.of(&run.figures),
            None => vec![requests, tokens, run.ttft_p50()],
        };
        let mut cells = vec![
            text(&run.name),
            text(&run.path.display().to_string()),
            text(run.started.as_deref().unwrap_or_default()),
            text(run.what.kind().text(Lang::En)),
            text(run.state.into_str()),
            text(&run.what.load(Lang::En)),
            text(run.label.as_deref().unwrap_or_default()),
        ];
        cells.extend(figures.into_iter().map(real));
        out.push_str(&cells.join(","));
        out.push_str("\r\n");
    }
    out
}

fn newest_first(runs: &[KnownResult]) -> Vec<&KnownResult> {
    let mut runs: Vec<&KnownResult> = runs.iter().collect();
    runs.sort_by(|a, b| (&b.started, &b.name).cmp(&(&a.started, &a.name)));
    runs
}

/// The list as a document; without runs, it says so, and how many more there are of `all`.
pub fn compose(
    runs: &[KnownResult],
    all: usize,
    columns: Option<&SummaryColumns>,
    lang: Lang,
) -> Doc {
    let block = if runs.is_empty() {
        Block::Paragraph(RunsText::NoRuns.text(lang).to_owned())
    } else {
        let mut table = table(runs, columns, lang);
        if all > runs.len() {
            let counts = [("older", number::count((all - runs.len()) as u64))];
            table.footnotes.push(RunsText::Limited.with(lang, &counts));
        }
        Block::Table(table)
    };
    Doc {
        sections: vec![Section::plain([block])],
    }
}

fn table(runs: &[KnownResult], chosen: Option<&SummaryColumns>, lang: Lang) -> Table {
    let runs = newest_first(runs);
    // Names of directories end with the label unless the user chose the directory.
    let labels = (runs.iter())
        .any(|run| (run.label.as_ref()).is_some_and(|label| !run.name.contains(label.as_str())));
    let mut columns = vec![
        Column::left(RunsText::When.text(lang)),
        Column::left(RunsText::Kind.text(lang)),
        Column::left(RunsText::Verdict.text(lang)),
        Column::right(&SetupText::Load.text(lang).to_lowercase()),
    ];
    let usual = || USUAL.parse().expect("columns of our own are known");
    let chosen = chosen.cloned().unwrap_or_else(usual);
    let first = columns.len();
    columns.extend(columns::heads(&chosen, lang));
    if labels {
        columns.push(Column::wrapped(RunsText::RunLabel.text(lang)));
    }
    // Names are there to be copied: never broken, and last, so that a long one hurts least.
    columns.push(Column::left(RunsText::RunName.text(lang)));
    let rows = runs.into_iter().map(|run| {
        let mut row = row(run, &chosen, lang);
        if labels {
            row.push(Cell::text(run.label.clone().unwrap_or_default()));
        }
        row.push(Cell::text(&run.name));
        row
    });
    let mut table = Table::new(columns, rows);
    let _ = columns::without_empty(&mut table, first, &chosen, lang);
    table
}

fn row(run: &KnownResult, chosen: &SummaryColumns, lang: Lang) -> Vec<Cell> {
    let tone = match run.state {
        RunState::Valid
        | RunState::Foreign
        | RunState::Better
        | RunState::Same
        | RunState::DefaultBest
        | RunState::DefaultMisses => Tone::Plain,
        RunState::Invalid | RunState::Damaged | RunState::Worse => Tone::Bad,
        RunState::NothingFound
        | RunState::ComputedGain
        | RunState::NoCertainGain
        | RunState::TradeOff
        | RunState::OnlyDefault
        | RunState::ComputedMisses
        | RunState::DefaultFails
        | RunState::Unconfirmed
        | RunState::CannotTell
        | RunState::Running
        | RunState::Unfinished
        | RunState::Newer
        | RunState::Doubtful => Tone::Caution,
    };
    let flaws = run.flaws(lang);
    let tone = match tone {
        Tone::Plain if !flaws.is_empty() => Tone::Caution,
        tone => tone,
    };
    let mut verdict = vec![run.state.text().text(lang).to_owned()];
    verdict.extend(flaws);
    let mut cells = vec![
        Cell::text(run.when()),
        Cell::text(run.what.kind().text(lang)),
        Cell::Toned(verdict.join(", "), tone),
        Cell::text(run.what.load(lang)),
    ];
    let values = chosen.of(&run.figures);
    let columns = chosen.0.iter().zip(values);
    cells.extend(columns.map(|(column, value)| match column.quantity {
        Quantity::Milliseconds => Cell::known(value.map(number::whole_millis)),
        _ => Cell::brief(value),
    }));
    cells
}

/// `2026-11-15T02:23:34Z` as `11-15 02:23`: the directory's name has the rest.
fn minute(started: &str) -> String {
    match (started.get(5..10), started.get(11..16)) {
        (Some(day), Some(minute)) => format!("{day} {minute}"),
        _ => started.to_owned(),
    }
}
