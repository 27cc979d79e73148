//! The page of a measurement that goes on.

use crate::{READER, both, clean, document, embedded, shown, texts};
use inferometer_campaign::capacity::Purpose;
use inferometer_message::{LiveText, ProgressText, SiteText, SweepText, VerdictText};
use inferometer_page::html::ControlText;
use inferometer_report::capacity::purpose_text;
use inferometer_text::Lang;
use serde_json::{Map, Value, json};

const SCRIPT: &str = include_str!("live.js");

/// Whether a page may end the measurement that it shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MayEnd {
    Yes,
    No,
}

/// The page of a run, a sweep, a search or a study that goes on: figures, curves, doubts and what
/// was measured before, as they come, from the events that the server sends for it below the
/// address `run`. `states` are the words for what became of a step, by their codes.
pub fn live_page(
    name: &str,
    run: &str,
    may_end: MayEnd,
    states: &[(&str, ProgressText)],
    lang: Lang,
) -> String {
    let tiles: String = [
        ("elapsed", both(LiveText::Elapsed)),
        ("done", both(LiveText::Done)),
        ("in-flight", both(LiveText::InFlight)),
        ("failed", both(LiveText::Failed)),
        ("requests", both(LiveText::RequestRate)),
        ("tokens", both(LiveText::TokenRate)),
        ("ttft", both(LiveText::Ttft)),
        ("tpot", both(LiveText::TpotBoth)),
    ]
    .map(|(id, title)| {
        format!("<div class=\"tile\"><div class=\"faint\">{title}</div><b id=\"{id}\">–</b></div>")
    })
    .concat();
    let charts = charts(&[
        ("tokens", LiveText::TokenRate),
        ("requests", LiveText::RequestRate),
        ("in-flight", LiveText::InFlightChart),
        ("ttft", LiveText::TtftChart),
        ("tpot", LiveText::TpotChart),
        ("failed", LiveText::FailedChart),
        ("server", LiveText::ServerChart),
        ("kv", LiveText::KvChart),
        ("power", LiveText::PowerChart),
    ]);
    let step_charts = charts_of_steps();
    let body = format!(
        "<p><a href=\"..\">{back}</a></p>\n<h1>{name}</h1>\n\
         <p class=\"faint\" id=\"about\" hidden></p>\n\
         <div class=\"bar\"><b id=\"state\">{waiting}</b><span class=\"faint\" id=\"left\"></span>\
         <button id=\"language\" type=\"button\">中文 / English</button>\
         <button id=\"theme\" type=\"button\">{theme}</button>{end}</div>\n\
         <section id=\"ladder\" hidden><h2>{ladder}</h2>\n<p id=\"steps\"></p>\n\
         <div class=\"charts\">{step_charts}</div>\n\
         <div class=\"scroll\"><table id=\"step-table\"></table></div></section>\n\
         <section id=\"run\"><h2 id=\"run-name\" hidden></h2>\n\
         <div class=\"tiles\">{tiles}</div>\n\
         <div id=\"objectives-part\" hidden><h2>{objectives}</h2>\n<ul id=\"objectives\"></ul></div>\n\
         <h2>{doubts}</h2>\n\
         <p class=\"faint\" id=\"no-doubts\">{none}</p><ul id=\"doubts\"></ul>\n\
         <div class=\"charts\">{charts}</div></section>\n\
         <script type=\"application/json\" id=\"data\">{data}</script>\n\
         <script>{READER}{SCRIPT}</script>\n",
        back = both(SiteText::Back),
        objectives = both(VerdictText::Objectives),
        name = shown(name),
        waiting = both(LiveText::Waiting),
        theme = both(ControlText::Theme),
        ladder = both(LiveText::Ladder),
        doubts = both(LiveText::Doubts),
        none = both(LiveText::NoDoubts),
        data = embedded(&data(run, states)),
        end = match may_end {
            MayEnd::Yes => format!(
                "<button id=\"end\" type=\"button\">{}</button>",
                both(LiveText::End)
            ),
            MayEnd::No => String::new(),
        },
    );
    document(&[clean(name), clean(name)], &body, lang)
}

fn charts(titles: &[(&str, LiveText)]) -> String {
    let chart = |(id, title): &(&str, LiveText)| {
        let keys = match title {
            LiveText::TtftChart | LiveText::TpotChart | LiveText::StepTtft => {
                keys(["p50", "p99"].map(str::to_owned))
            }
            LiveText::ServerChart => keys([LiveText::Running, LiveText::Queued].map(both)),
            _ => String::new(),
        };
        format!(
            "<figure><figcaption>{}{keys}</figcaption>\
             <svg id=\"chart-{id}\" viewBox=\"0 0 600 160\" role=\"img\"></svg></figure>",
            both(*title)
        )
    };
    titles.iter().map(chart).collect()
}

/// What the two curves of a chart are, in their colours.
fn keys([first, second]: [String; 2]) -> String {
    format!(" <span class=\"key\">{first}</span> <span class=\"key second\">{second}</span>")
}

fn charts_of_steps() -> String {
    charts(&[
        ("step-tokens", LiveText::StepTokens),
        ("step-ttft", LiveText::StepTtft),
        ("step-objective", LiveText::StepObjective),
    ])
}

/// What the script needs beside the events, each text in both languages.
fn data(run: &str, states: &[(&str, ProgressText)]) -> Value {
    let states: Map<String, Value> = (states.iter())
        .map(|(code, text)| ((*code).to_owned(), texts(*text)))
        .collect();
    let purposes = [Purpose::Bracket, Purpose::Bisect, Purpose::Confirm];
    let purposes: Map<String, Value> = (purposes.into_iter())
        .map(|purpose| (purpose.to_string(), texts(purpose_text(purpose))))
        .collect();
    json!({
        "run": run,
        "waiting": texts(LiveText::Waiting),
        "simulated": texts(LiveText::Simulated),
        "between": texts(LiveText::Between),
        "away": texts(LiveText::Away),
        "ended": texts(LiveText::Ended),
        "sure": texts(LiveText::Sure),
        "left": texts(ProgressText::TimeLeft),
        "steps": texts(LiveText::Steps),
        "stepsOf": texts(LiveText::StepsOf),
        "phases": {
            "warmup": texts(ProgressText::WarmUp),
            "measured": texts(ProgressText::Measuring),
            "hold": texts(ProgressText::Hold),
        },
        "met": texts(LiveText::Met),
        "missed": texts(LiveText::Missed),
        "undecided": texts(LiveText::Undecided),
        "place": texts(LiveText::Place),
        "default": texts(ProgressText::Default),
        "state": texts(LiveText::State),
        "failed": texts(SweepText::Failed),
        "notes": texts(LiveText::Notes),
        "states": states,
        "purposes": purposes,
        "severities": {
            "note": texts(VerdictText::SeverityNote),
            "warn": texts(VerdictText::SeverityWarn),
            "invalid": texts(VerdictText::SeverityInvalid),
        },
    })
}
