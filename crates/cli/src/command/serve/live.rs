//! A run that goes on, as events: its figures and doubts so far, until it ends.

use crate::output::read_again;
use anyhow::Context;
use inferometer_analysis::live::Course;
use inferometer_core::doubt::DoubtCode;
use inferometer_core::record::Record;
use inferometer_core::summary::StatedDoubt;
use inferometer_store::run_dir::RunDir;
use inferometer_text::Lang;
use inferometer_web::Answer;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex};
use std::time::{Duration, Instant};

/// Time between events, and how many times the making of one that is at least.
const PACE: Duration = Duration::from_secs(1);
const REST: u32 = 10;
/// How long the figures of a run may take once nothing is measured; a killed one has none.
const SEALING: Duration = Duration::from_secs(30);

/// Events of a run; the last says that it ended, and the page then becomes its report.
pub fn events(path: PathBuf) -> Answer {
    let mut next = Instant::now();
    let mut ended = false;
    let mut quiet_since = None;
    Answer::events(Box::new(move || {
        if ended {
            return None;
        }
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
        let began = Instant::now();
        let run = RunDir::open(&path);
        if !run.as_ref().is_ok_and(RunDir::is_running) {
            let quiet_since = quiet_since.get_or_insert(began);
            if run.is_ok_and(|run| run.summary().is_err()) && quiet_since.elapsed() < SEALING {
                next = began + PACE / 4;
                return Some(json!({"waiting": true}).to_string());
            }
            ended = true;
            return Some(json!({"ended": true}).to_string());
        }
        quiet_since = None;
        let told = shared(&path);
        next = Instant::now() + PACE.max(REST * began.elapsed());
        Some(told)
    }))
}

/// The same for all browsers that ask within a moment.
fn shared(path: &Path) -> String {
    static TOLD: LazyLock<Mutex<HashMap<PathBuf, (Instant, String)>>> =
        LazyLock::new(Mutex::default);
    let mut told = TOLD.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    told.retain(|_, (made, _)| made.elapsed() < 60 * PACE);
    if let Some((made, text)) = told.get(path)
        && made.elapsed() < PACE / 2
    {
        return text.clone();
    }
    let text = view(path)
        .unwrap_or_else(|_| json!({"waiting": true}))
        .to_string();
    told.insert(path.to_owned(), (Instant::now(), text.clone()));
    text
}

pub fn records(path: &Path) -> anyhow::Result<Vec<Record>> {
    let run = RunDir::open(path)?;
    Ok(run.records()?.collect::<Result<_, _>>()?)
}

fn view(path: &Path) -> anyhow::Result<Value> {
    let course = Course::of(&records(path)?);
    let doubts = |lang: Lang| -> anyhow::Result<_> {
        let run = RunDir::open(path)?;
        let scenario = run.scenario().context("its scenario cannot be read")?;
        let mut summary = read_again(run, scenario, lang)?.summary;
        // That it has not ended is no news.
        let news = |doubt: &StatedDoubt| doubt.code != DoubtCode::Interrupted;
        summary.doubts.retain(news);
        Ok(summary)
    };
    let (summary, chinese) = (doubts(Lang::En)?, doubts(Lang::Zh)?);
    let latency = &summary.latency;
    Ok(json!({
        "course": course,
        "planned": summary.requests.planned,
        "doubts": {"en": summary.doubts, "zh": chinese.doubts},
        "summary": {
            "ttft_p50": latency.ttft_ms.map(|it| it.p50),
            "ttft_p99": latency.ttft_ms.map(|it| it.p99),
            "tpot_p50": latency.tpot_ms.map(|it| it.p50),
        },
    }))
}
