//! Pages of runs and sweeps that are made up.

use crate::made_up::{self, Load, VLLM};
use inferometer_analysis::context::RunContext;
use inferometer_analysis::fold::fold;
use inferometer_analysis::trace::RunTrace;
use inferometer_chart::Drawing;
use inferometer_core::environment::{Ending, Environment};
use inferometer_core::options::Options;
use inferometer_core::point::Point;
use inferometer_core::record::{Failure, FailureClass, Outcome, Phase};
use inferometer_core::summary::Summary;
use inferometer_page::html::Page;
use inferometer_report::run::{Detail, RunReport};
use inferometer_report::sweep::{SweepReport, Visited};
use inferometer_site::pages::run::{RunPage, compose_page};
use inferometer_site::pages::sweep;
use inferometer_store::sweep_dir::{PLAN_SCHEMA, PlannedPoint, SweepPlan, Trial, TrialState};
use inferometer_text::Lang;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;

pub const HOSTILE: &str =
    "\"'><script>alert(1)</script><img src=x onerror=alert(2)> 😀 %{x} {count} \u{202e}&lt;";

/// A run of so many answers.
pub fn run(requests: u64, lang: Lang) -> Page {
    page(requests, None, lang)
}

/// A run whose name, tags, model and failures are somebody's text.
pub fn run_named(name: &str) -> Page {
    page(30, Some(name), Lang::En)
}

fn page(requests: u64, name: Option<&str>, lang: Lang) -> Page {
    let load = Load {
        concurrency: 4,
        requests,
        input: 64.0,
        output: 24.0,
    };
    let planned = Load {
        requests: requests.max(1),
        ..load
    };
    let mut scenario = made_up::scenario(planned);
    let mut environment = Environment::default();
    let mut records = made_up::records(&VLLM, load);
    if let Some(name) = name {
        scenario.label = Some(name.to_owned());
        environment.server.model = name.to_owned();
        environment.server.models = vec![name.to_owned()];
        for record in records.iter_mut().take(3) {
            record.outcome = Outcome::Failed(Failure {
                phase: Phase::Status,
                class: FailureClass::ServerError,
                detail: name.to_owned(),
            });
        }
    }
    let ending = Ending {
        planned: requests,
        ..Ending::default()
    };
    let context = RunContext {
        scenario: &scenario,
        environment: &environment,
        ending: &ending,
        lang,
    };
    let mut trace = RunTrace::new(&scenario.objectives.thresholds);
    records.iter().for_each(|record| trace.add(record));
    let folded = fold(&context, records);
    let run = RunPage {
        folded: &folded,
        drawing: &Drawing::of(&trace),
        report: RunReport {
            summary: &folded.summary(lang),
            scenario: &scenario,
            environment: &environment,
            ending: &ending,
            directory: Some(Path::new("runs/made-up")),
            lang,
            detail: Detail::Definitions,
        },
    };
    compose_page(&run, lang)
}

/// A sweep over levels of concurrency and two values of an axis that has somebody's text.
pub fn ladder(name: &str, levels: &[u32]) -> Page {
    let points = levels.iter().flat_map(|&level| {
        [name, "other"].map(|value| {
            let point = BTreeMap::from([
                ("concurrency".to_owned(), json!(level)),
                ("url".to_owned(), json!(value)),
            ]);
            (Point(point), small(level))
        })
    });
    sweep_page(name, &["url", "concurrency"], points.collect())
}

pub fn grid() -> Page {
    let lengths = [128, 512, 2048];
    let points = lengths.iter().flat_map(|&input| {
        [64, 256].map(|output| {
            let point = BTreeMap::from([
                ("input-tokens".to_owned(), json!(input)),
                ("output-tokens".to_owned(), json!(output)),
            ]);
            let load = Load {
                concurrency: 4,
                requests: 40,
                input: f64::from(input),
                output: f64::from(output),
            };
            (Point(point), made_up::run(&VLLM, load))
        })
    });
    sweep_page("grid", &["input-tokens", "output-tokens"], points.collect())
}

/// A sweep of so many points.
pub fn sweep_of(count: u32) -> Page {
    let summary = small(2);
    let points = (1..=count).map(|level| {
        let point = BTreeMap::from([("concurrency".to_owned(), json!(level))]);
        let mut summary = summary.clone();
        let rate = &mut summary.throughput.output_tokens_per_s;
        *rate = rate.map(|rate| rate * f64::from(level));
        (Point(point), summary)
    });
    sweep_page("many", &["concurrency"], points.collect())
}

fn small(concurrency: u32) -> Summary {
    let load = Load {
        concurrency,
        requests: 40,
        input: 64.0,
        output: 12.0,
    };
    made_up::run(&VLLM, load)
}

fn sweep_page(label: &str, axes: &[&str], points: Vec<(Point, Summary)>) -> Page {
    let id = |place: usize| format!("p{place}");
    let plan = SweepPlan {
        engine_options: Vec::new(),
        engine: Vec::new(),
        schema: PLAN_SCHEMA.to_owned(),
        label: Some(label.to_owned()),
        tags: Vec::new(),
        axes: axes.iter().map(ToString::to_string).collect(),
        typed: Vec::new(),
        seeds: Vec::new(),
        repeat: 1,
        visits: (0..points.len()).map(|place| (place, 0)).collect(),
        points: (points.iter().enumerate())
            .map(|(place, (point, _))| PlannedPoint {
                flags: Default::default(),
                id: id(place),
                point: point.clone(),
                options: Options::default(),
            })
            .collect(),
    };
    let visited: Vec<Visited> = (points.into_iter().enumerate())
        .map(|(place, (_, summary))| Visited {
            trial: Trial {
                class: None,
                id: id(place),
                repeat: 0,
                state: TrialState::Done,
                directory: None,
                reason: None,
                ended: "2026-11-15T02:23:34+08:00".to_owned(),
            },
            summary: Some(summary),
        })
        .collect();
    let report = SweepReport {
        plan: &plan,
        visited: &visited,
        directory: Path::new("sweeps/made-up"),
        environment: None,
        columns: None,
        lang: Lang::En,
    };
    sweep::compose_page(&report)
}
