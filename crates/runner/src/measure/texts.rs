//! What is done with the text of answers once the run is over: it is checked, and kept where the
//! user wants it. Nothing of this happens while requests are sent.

use super::check::{Pattern, Rule, first_difference};
use super::structured::{Form, FormVerdict, read_schema};
use crate::error::{Context as _, RunnerError, bail};
use inferometer_core::check::Check;
use inferometer_core::content::Content;
use inferometer_core::record::Record;
use inferometer_core::scenario::Scenario;
use inferometer_core::work::PromptSource;
use inferometer_store::error::StorageError;
use inferometer_store::run_dir::RunDir;
use inferometer_store::texts_file::{RequestText, TextWriter, read_texts};
use inferometer_workload::Workload;
use std::collections::HashMap;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// Answers without the form that was asked for that are kept for reading.
const MOST_INVALID: usize = 100;

/// Rows that are looked at for an expected answer before the first request is sent.
const LOOKED_AT: u64 = 32;

pub(super) struct Texts {
    checker: Option<Checker>,
    form: Form,
    keep: bool,
}

enum Checker {
    Rule(Rule),
    Command(String),
    /// The answers of another run by what was asked.
    SameAs(HashMap<Asked, String>),
}

/// What tells requests of two runs apart: their prompt, and in a conversation their place in it.
#[derive(PartialEq, Eq, Hash)]
struct Asked {
    prompt: String,
    turn: Option<(u64, u32)>,
}

/// What the texts say of the records, by their number.
#[derive(Default)]
pub(super) struct Verdicts(HashMap<u64, Verdict>);

#[derive(Clone, Copy, Default)]
struct Verdict {
    score: Option<f64>,
    differs_at: Option<u64>,
    form: FormVerdict,
}

impl Verdicts {
    pub(super) fn apply(&self, record: &mut Record) {
        if let Some(verdict) = self.0.get(&record.index).filter(|_| record.is_measured()) {
            record.score = verdict.score;
            record.differs_at = verdict.differs_at;
            record.valid_json = verdict.form.valid_json;
            record.tool_calls = verdict.form.calls.map(|(all, _)| all);
            record.valid_tool_calls = verdict.form.calls.map(|(_, valid)| valid);
        }
    }

    /// Answers that could be checked.
    fn known(&self) -> usize {
        self.0.values().filter(|it| it.score.is_some()).count()
    }
}

impl Texts {
    /// Reads what the check needs, so that what is missing is said before the first request.
    pub(super) fn prepare(
        scenario: &Scenario,
        workload: &Workload,
    ) -> Result<Option<Texts>, RunnerError> {
        let check = scenario.objectives.check.as_ref();
        let form = Form::of_work(&scenario.work)?;
        let row_asks = |row| {
            !form
                .of_row(&workload.prompts.prompt(row, 0).content)
                .asks_nothing()
        };
        let from_data = matches!(scenario.work.prompts, PromptSource::Data(_));
        let asks = !form.asks_nothing() || from_data && (0..LOOKED_AT).any(row_asks);
        if check.is_none() && !scenario.keep_text && !asks {
            return Ok(None);
        }
        let expects = |row| workload.prompts.expected(row, 0).is_some();
        if check.is_some_and(Check::needs_expected) && !(0..LOOKED_AT).any(expects) {
            bail!(
                "--check needs an expected answer in the rows of the data, in a field such as answer, expected, reference or target; the first {LOOKED_AT} rows have none"
            );
        }
        Ok(Some(Texts {
            checker: check.map(Checker::new).transpose()?,
            form,
            keep: scenario.keep_text,
        }))
    }

    /// Checks the answers that were put aside, and keeps texts or removes them. A check that fails
    /// costs the scores, never the run: then it is said why.
    pub(super) fn finish(
        self,
        directory: &RunDir,
        workload: &Workload,
    ) -> Result<(Verdicts, Option<String>), RunnerError> {
        let answers = directory.answers_path();
        let (mut verdicts, trouble) = match &self.checker {
            Some(checker) => match checker.verdicts(&answers, workload) {
                Ok(verdicts) if verdicts.known() == 0 => (verdicts, checker.nothing_known()),
                Ok(verdicts) => (verdicts, None),
                Err(error) => (Verdicts::default(), Some(error.to_string())),
            },
            None => (Verdicts::default(), None),
        };
        let mut kept = None;
        if self.keep {
            kept = Some(TextWriter::create(&directory.texts_path())?);
        }
        let mut invalid = None;
        let mut left = MOST_INVALID;
        for text in completed(&answers, workload)? {
            let (mut text, content) = text?;
            let verdict = verdicts.0.entry(text.index).or_default();
            verdict.form = self.form.of_row(&content).verdict(&text);
            text.score = verdict.score;
            if verdict.form.is_invalid() && left > 0 {
                left -= 1;
                if invalid.is_none() {
                    invalid = Some(TextWriter::create(&directory.invalid_path())?);
                }
                invalid.iter_mut().try_for_each(|to| to.push(&text))?;
            }
            kept.iter_mut().try_for_each(|to| to.push(&text))?;
        }
        for mut writer in kept.into_iter().chain(invalid) {
            writer.flush()?;
        }
        std::fs::remove_file(&answers)
            .with_context(|| format!("cannot remove {}", answers.display()))?;
        Ok((verdicts, trouble))
    }
}

/// The answers with what they answer.
fn completed<'a>(
    answers: &Path,
    workload: &'a Workload,
) -> Result<
    impl Iterator<Item = Result<(RequestText, Content), StorageError>> + use<'a>,
    StorageError,
> {
    Ok(read_texts(answers)?.map(move |text| {
        let mut text = text?;
        let (session, turn) = (
            text.session.unwrap_or(text.index),
            text.turn.unwrap_or_default(),
        );
        let content = workload.prompts.prompt(session, turn).content;
        text.prompt = Some(said(&content));
        let expected = workload.prompts.expected(session, turn);
        text.expected = expected.map(|expected| expected.to_string());
        Ok((text, content))
    }))
}

fn said(content: &Content) -> String {
    match content {
        Content::Text(text) | Content::Messages(text) | Content::Body(text) => text.to_string(),
        Content::TokenIds(ids) => format!("{ids:?}"),
        Content::Batch(all) => all.iter().map(said).collect::<Vec<_>>().join("\n"),
    }
}

fn asked(text: &mut RequestText) -> Asked {
    Asked {
        prompt: text.prompt.take().unwrap_or_default(),
        turn: text.session.zip(text.turn),
    }
}

impl Checker {
    fn new(check: &Check) -> Result<Checker, RunnerError> {
        Ok(Checker::Rule(match check {
            Check::Gsm8k => Rule::Gsm8k,
            Check::Choice => Rule::Choice,
            Check::Exact => Rule::Exact,
            Check::Regex(pattern) => {
                let pattern = Pattern::new(pattern.as_deref());
                Rule::Matches(pattern.with_context(|| format!("--check {check} is not a pattern"))?)
            }
            Check::Schema(file) => Rule::Schema(read_schema("--check", file)?),
            Check::Command(command) => return Ok(Checker::Command(command.clone())),
            Check::SameAs(run) => return earlier_answers(run).map(Checker::SameAs),
        }))
    }

    fn nothing_known(&self) -> Option<String> {
        Some(match self {
            Checker::SameAs(_) => "--check same-as: no prompt of this run is in the other; give both the same data, --seed and lengths, and --no-cache-nonce".to_owned(),
            Checker::Rule(_) | Checker::Command(_) => "--check: no answer could be checked".to_owned(),
        })
    }

    fn verdicts(&self, answers: &Path, workload: &Workload) -> Result<Verdicts, RunnerError> {
        let texts = completed(answers, workload)?;
        let texts = texts.map(|text| text.map(|(text, _)| text));
        let mut verdicts = HashMap::new();
        match self {
            Checker::Command(command) => {
                let (indices, scores) = judged_by(command, texts)?;
                let scored = indices.into_iter().zip(scores);
                verdicts.extend(scored.map(|(index, score)| {
                    let verdict = Verdict {
                        score,
                        ..Verdict::default()
                    };
                    (index, verdict)
                }));
            }
            Checker::Rule(rule) => {
                for text in texts {
                    let text = text?;
                    let is_right = rule.is_right(&text.answer, text.expected.as_deref());
                    let verdict = Verdict {
                        score: is_right.map(|right| f64::from(u8::from(right))),
                        ..Verdict::default()
                    };
                    verdicts.insert(text.index, verdict);
                }
            }
            Checker::SameAs(others) => {
                for text in texts {
                    let mut text = text?;
                    let index = text.index;
                    if let Some(other) = others.get(&asked(&mut text)) {
                        let differs_at = first_difference(&text.answer, other);
                        let verdict = Verdict {
                            score: Some(f64::from(u8::from(differs_at.is_none()))),
                            differs_at,
                            ..Verdict::default()
                        };
                        verdicts.insert(index, verdict);
                    }
                }
            }
        }
        Ok(Verdicts(verdicts))
    }
}

fn earlier_answers(run: &Path) -> Result<HashMap<Asked, String>, RunnerError> {
    let directory = RunDir::open(run)?;
    let texts = directory.texts_path();
    if !texts.exists() {
        bail!(
            "--check same-as: {} kept no texts; repeat that run with --keep-text",
            run.display()
        );
    }
    let mut answers = HashMap::new();
    for text in read_texts(&texts)? {
        let mut text = text?;
        answers.entry(asked(&mut text)).or_insert(text.answer);
    }
    Ok(answers)
}

/// Lets a command score answers: a line of JSON for each on its standard input, and a line with a
/// number from 0 to 1, `true` or `false` for each on its standard output.
fn judged_by(
    command: &str,
    texts: impl Iterator<Item = Result<RequestText, StorageError>> + Send,
) -> Result<(Vec<u64>, Vec<Option<f64>>), RunnerError> {
    let mut child = Command::new("sh")
        .args(["-c", command])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("--check: cannot start `{command}`"))?;
    let (Some(input), Some(output), Some(mut complaints)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        bail!("--check: `{command}` has no input or output");
    };
    let (indices, scores, said) = std::thread::scope(|scope| {
        let feeding = scope.spawn(move || {
            let mut input = BufWriter::new(input);
            let mut indices = Vec::new();
            for text in texts {
                let text = text?;
                indices.push(text.index);
                let line = serde_json::json!({
                    "index": text.index,
                    "prompt": text.prompt,
                    "expected": text.expected,
                    "answer": text.answer,
                });
                // One that reads no more says so by its scores.
                if writeln!(input, "{line}").is_err() {
                    break;
                }
            }
            Ok::<_, StorageError>(indices)
        });
        let listening = scope.spawn(move || {
            let mut said = String::new();
            let _ = std::io::Read::read_to_string(&mut complaints, &mut said);
            said
        });
        let lines = BufReader::new(output).lines().map_while(Result::ok);
        let scores: Vec<Option<f64>> = lines.map(|line| score(&line)).collect();
        (feeding.join(), scores, listening.join())
    });
    let indices = indices.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
    let status = child.wait()?;
    if !status.success() || scores.len() != indices.len() {
        let said = said.unwrap_or_default();
        let last = said.lines().last().unwrap_or_default();
        bail!(
            "--check: `{command}` gave {} scores to {} answers and ended with {status}; it must write a line with a number from 0 to 1 for each line that it reads {last}",
            scores.len(),
            indices.len(),
        );
    }
    Ok((indices, scores))
}

fn score(line: &str) -> Option<f64> {
    match line.trim() {
        "true" => Some(1.0),
        "false" => Some(0.0),
        number => number
            .parse()
            .ok()
            .filter(|score| (0.0..=1.0).contains(score)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts() -> impl Iterator<Item = Result<RequestText, StorageError>> {
        (0..3).map(|index| {
            Ok(RequestText {
                index,
                answer: format!("answer {index}"),
                expected: Some("answer 1".to_owned()),
                ..RequestText::default()
            })
        })
    }

    #[test]
    fn a_command_gives_a_score_for_each_line_or_says_why_not() {
        let command = r#"while read -r line; do case "$line" in *'answer 1"'*'answer 1"'*) echo true;; *) echo 0.25;; esac; done"#;
        let (indices, scores) = judged_by(command, texts()).unwrap();
        assert_eq!(indices, [0, 1, 2]);
        assert_eq!(scores, [Some(0.25), Some(1.0), Some(0.25)]);
        for (command, word) in [
            ("echo 1", "1 scores to 3 answers"),
            ("cat >/dev/null; echo oh no >&2; exit 3", "oh no"),
        ] {
            let said = judged_by(command, texts()).unwrap_err().to_string();
            assert!(said.contains(word), "{said}");
        }
    }
}
