//! The report of one run, for people: the verdict, what was done, the few numbers that
//! matter, the latencies, and whatever speaks against them.

mod continuation;
mod definitions;
mod latency;
mod models;
mod numbers;
mod server;
mod sessions;
pub(crate) mod setup;
mod trouble;
mod work;

pub(crate) use trouble::{is_missed_by_failures, seen};

use crate::findings;
use inferometer_core::api::Answers;
use inferometer_core::doubt::Severity;
use inferometer_core::environment::{Ending, Environment};
use inferometer_core::scenario::{Scenario, Shape};
use inferometer_core::summary::{SloOutcome, SloResult, Summary};
use inferometer_message::{SetupText, VerdictText};
use inferometer_page::doc::{Block, Command, Doc, Pair, Section, Tone, Verdict};
use inferometer_page::number;
use inferometer_text::punctuation::PunctuationText;
use inferometer_text::{Lang, Text, fill};
use std::path::Path;

#[derive(Clone, Copy, Debug)]
pub struct RunReport<'a> {
    pub summary: &'a Summary,
    pub scenario: &'a Scenario,
    pub environment: &'a Environment,
    pub ending: &'a Ending,
    pub directory: Option<&'a Path>,
    pub lang: Lang,
    pub detail: Detail,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    #[default]
    Numbers,
    /// The numbers, and how each is defined.
    Definitions,
}

impl RunReport<'_> {
    fn say(&self, text: impl Text) -> &'static str {
        text.text(self.lang)
    }

    /// A template with its values. Text that others wrote goes last, so that braces in it are
    /// not taken for names.
    fn fill(&self, text: impl Text, values: &[(&str, String)]) -> String {
        fill(self.say(text), values)
    }

    fn list<S: AsRef<str>>(&self, parts: &[S]) -> String {
        PunctuationText::Comma.join(self.lang, parts)
    }

    /// What is known of several things; absent where nothing is.
    fn known<const N: usize>(
        &self,
        between: PunctuationText,
        parts: [Option<String>; N],
    ) -> Option<String> {
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| between.join(self.lang, &parts))
    }

    fn clauses<S: AsRef<str>>(&self, parts: &[S]) -> String {
        PunctuationText::Semicolon.join(self.lang, parts)
    }

    /// Throughput is of a window that is steady by construction.
    fn has_steady_window(&self) -> bool {
        let window = self.summary.window;
        window.is_some_and(|window| window.steady_by_construction)
    }

    /// Answers consist of items: there are no output tokens, and no first one.
    fn is_of_items(&self) -> bool {
        self.scenario.connection.api.answers() == Answers::Items
    }

    fn is_open(&self) -> bool {
        !matches!(self.scenario.load.shape, Shape::Closed { .. })
    }
}

/// The report of a run. An invalid run says why before it says anything else.
pub fn compose(report: &RunReport<'_>) -> Doc {
    let verdict = Section::plain([verdict(report)]);
    let doubts = trouble::doubts(report);
    let setup = setup::section(report);
    let failures = trouble::failures(report);
    let findings = findings::section(&findings::of_run(report.summary, report.lang), report.lang);
    let numbers = [
        Some(numbers::section(report)),
        continuation::section(report),
        trouble::objectives(report),
        latency::section(report),
        models::section(report),
        sessions::section(report),
    ];
    let mut sections = vec![Some(verdict)];
    if report.summary.valid {
        sections.push(Some(setup));
        sections.extend(numbers);
        sections.extend([findings, failures, doubts]);
    } else {
        sections.extend([doubts, findings, failures, Some(setup)]);
        sections.extend(numbers);
    }
    sections.push(trouble::drift(report));
    sections.push(server::section(report));
    if report.detail == Detail::Definitions {
        sections.push(Some(definitions::section(report)));
    }
    sections.push(stored(report));
    Doc {
        sections: sections.into_iter().flatten().collect(),
    }
}

fn verdict(report: &RunReport<'_>) -> Verdict {
    if !report.summary.valid {
        let (reason, rest) = invalid_reason(report);
        let word = report.say(VerdictText::Invalid);
        return Verdict {
            rest,
            ..Verdict::new(word, Tone::Bad, reason)
        };
    }
    let slo = report.summary.slo.as_ref();
    let met = slo.is_none_or(|slo| slo.outcome() == SloOutcome::Met);
    let tone = if met { Tone::Good } else { Tone::Caution };
    Verdict::new(report.say(VerdictText::Valid), tone, valid_reason(report))
}

/// What a reader of a valid run should still look at.
fn valid_reason(report: &RunReport<'_>) -> String {
    let doubts = &report.summary.doubts;
    let of = |severity| (doubts.iter().filter(|it| it.severity == severity)).count();
    let counted = |count: usize, one, many| match count {
        0 => None,
        1 => Some(report.say(one).to_owned()),
        _ => Some(report.fill(many, &[("count", number::count(count as u64))])),
    };
    let warned = of(Severity::Warn);
    let parts = [
        (report.summary.slo.as_ref()).map(|slo| objectives_in_brief(report, slo)),
        counted(warned, VerdictText::OneWarning, VerdictText::Warnings),
        counted(of(Severity::Note), VerdictText::OneNote, VerdictText::Notes),
    ];
    let said = report.known(PunctuationText::Semicolon, parts);
    said.unwrap_or_else(|| report.say(VerdictText::NoDoubts).to_owned())
}

fn objectives_in_brief(report: &RunReport<'_>, slo: &SloResult) -> String {
    let (label, met) = match slo.outcome() {
        SloOutcome::Met => return report.say(VerdictText::ObjectivesMet).to_owned(),
        SloOutcome::Missed => (VerdictText::ObjectivesMissed, Some(false)),
        SloOutcome::Undecided => (VerdictText::ObjectivesUndecided, None),
    };
    let these = slo.objectives.iter().filter(|one| one.met == met);
    let mut list: Vec<&str> = these.map(|one| one.objective.as_str()).collect();
    if list.is_empty() {
        list.push(report.say(VerdictText::AttainmentMissed));
    }
    report.fill(label, &[("list", report.list(&list))])
}

/// The first grave doubt in a sentence, and how many more there are.
fn invalid_reason(report: &RunReport<'_>) -> (String, String) {
    let doubts = report.summary.doubts.iter();
    let mut grave = doubts.filter(|doubt| doubt.severity == Severity::Invalid);
    let Some(first) = grave.next() else {
        let reason = report.say(VerdictText::NoReasonStored);
        return (reason.to_owned(), String::new());
    };
    let sentence = first.text.split(". ").next().unwrap_or_default();
    let sentence = sentence.split('。').next().unwrap_or_default();
    let more = match grave.count() {
        0 => String::new(),
        1 => report.say(VerdictText::OneMoreReason).to_owned(),
        more => report.fill(
            VerdictText::MoreReasons,
            &[("count", number::count(more as u64))],
        ),
    };
    (sentence.trim_end_matches('.').to_owned(), more)
}

/// A heading that says of an invalid run that it is, wherever its numbers are copied to.
fn heading(report: &RunReport<'_>, label: impl Text) -> String {
    if report.summary.valid {
        report.say(label).to_owned()
    } else {
        report.fill(
            PunctuationText::InBrackets,
            &[
                ("text", report.say(label).to_owned()),
                ("more", report.say(VerdictText::Invalid).to_owned()),
            ],
        )
    }
}

/// Where the run is, and the command that repeats it.
fn stored(report: &RunReport<'_>) -> Option<Section> {
    let directory = report.directory?;
    let words = match report.environment.typed.as_slice() {
        [] => from_settings(report, directory),
        words => typed(words, None),
    };
    Some(Section::plain([
        Block::Pairs(vec![Pair::new(
            report.say(SetupText::Saved),
            directory.to_string_lossy(),
        )]),
        Block::Command(Command {
            caption: report.say(SetupText::Repeat).to_owned(),
            words,
        }),
    ]))
}

/// The command that repeats a run of which only the settings are known.
fn from_settings(report: &RunReport<'_>, directory: &Path) -> Vec<String> {
    let scenario = directory.join("scenario.toml");
    let mut words: Vec<String> = ["inferometer", "run", "--config"].map(str::to_owned).into();
    words.push(shell_word(&scenario.to_string_lossy()));
    for header in &report.scenario.connection.headers {
        // Values of headers are never stored, so the reader has to give them again.
        words.push(format!("--header {}", shell_word(&format!("{header}=…"))));
    }
    if let Some(engine) = &report.environment.engine {
        words.extend(started(&engine.options, &engine.command));
    }
    words
}

/// What starts an engine again, as a shell takes it: our options about it, then its command.
pub(crate) fn started(options: &[String], command: &[String]) -> Vec<String> {
    let mut words: Vec<String> = options.iter().map(|word| shell_word(word)).collect();
    if !command.is_empty() {
        words.push("--".to_owned());
        words.extend(command.iter().map(|word| shell_word(word)));
    }
    words
}

/// A command in the short form that its author knows. Its folder is taken now: a new one is made,
/// unless work is to go on in this one.
pub(crate) fn typed(words: &[String], goes_on_in: Option<&Path>) -> Vec<String> {
    let mut after_out = false;
    let of_engine = words.iter().position(|word| word == "--");
    let (ours, engine) = words.split_at(of_engine.unwrap_or(words.len()));
    let mut kept = vec!["inferometer".to_owned()];
    for word in ours {
        let is_out = word == "--out";
        if !(std::mem::replace(&mut after_out, is_out) || is_out || word.starts_with("--out=")) {
            kept.push(shell_word(word));
        }
    }
    if let Some(folder) = goes_on_in {
        kept.extend(["--out".to_owned(), shell_word(&folder.to_string_lossy())]);
    }
    kept.extend(engine.iter().map(|word| shell_word(word)));
    kept
}

pub(crate) fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=:,+@%…".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_a_shell_only_where_it_is_needed() {
        assert_eq!(
            shell_word("runs/a-1/scenario.toml"),
            "runs/a-1/scenario.toml"
        );
        assert_eq!(shell_word("my runs/it's"), r"'my runs/it'\''s'");
        assert_eq!(shell_word("$(reboot)"), "'$(reboot)'");
    }
}
