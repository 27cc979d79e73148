//! From the work of a scenario to prompts, with everything that a reader should know of them.

use crate::data::{DataSet, End, Grouped, Selected, Selection, grouped, pieces};
use crate::tokenizer::{self, CountCache, Tokenizer, TokenizerError};
use crate::{
    Content, ContinuationError, Continued, Fixed, LengthError, Media, Nonce, OutputLengths, Pieces,
    Prompt, Prompts, Sampler, Synthetic, SyntheticError, TracePrompts,
};
use inferometer_core::note::Known;
use inferometer_core::seed::{Dimension, rng};
use inferometer_core::work::{
    self, DataSource, Follows, Language, Output, PromptSource, TokenizerName, Work,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// What is needed to open the work of a scenario.
#[derive(Clone, Debug)]
pub struct Opening<'a> {
    pub work: &'a Work,
    pub seed: u64,
    /// Makes prompts that are ours new; leaves the user's alone.
    pub nonce: Option<Nonce>,
    /// Where the data lie on this machine; absent: where the work says.
    pub file: Option<&'a Path>,
    /// Sessions that the run needs; absent if nobody knows.
    pub wanted: Option<u64>,
    /// Each request is one sound, which must be here.
    pub only_sounds: bool,
    /// Where counts of tokens are kept between runs.
    pub counts: Option<PathBuf>,
}

pub struct Workload {
    pub prompts: Arc<dyn Prompts>,
    /// Lengths of answers that the prompts do not state.
    pub outputs: OutputLengths,
    /// Times of arrival by the trace's clock, from the beginning of its window.
    pub arrivals: Option<Vec<Duration>>,
    /// What goes with the text of each prompt.
    pub media: Media,
    /// The tokenizer that the user chose.
    pub tokenizer: Option<Arc<dyn Tokenizer>>,
    /// What a reader should know.
    pub notes: Vec<Known>,
    free: bool,
    /// The user asked for lengths of answers, which then win over those of the work.
    outputs_win: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
    #[error(transparent)]
    Length(#[from] LengthError),
    #[error(transparent)]
    Synthetic(#[from] SyntheticError),
    #[error(transparent)]
    Continuation(#[from] ContinuationError),
    #[error(transparent)]
    Data(#[from] crate::data::DataError),
}

impl Workload {
    /// Number of distinct sessions; absent if every number has its own.
    pub fn distinct(&self) -> Option<u64> {
        self.prompts.distinct().filter(|_| self.media.is_empty())
    }

    /// What the user says in a turn of a session, with the length of the answer to ask for.
    pub fn prompt(&self, session: u64, turn: u32) -> Prompt {
        let mut prompt = self.prompts.prompt(session, turn);
        prompt.output_tokens = self.tokens_to_ask(session, turn, || prompt.output_tokens);
        prompt
    }

    /// That length alone.
    pub fn output_tokens(&self, session: u64, turn: u32) -> Option<u32> {
        self.tokens_to_ask(session, turn, || self.prompts.output_tokens(session, turn))
    }

    fn tokens_to_ask(
        &self,
        session: u64,
        turn: u32,
        of_work: impl FnOnce() -> Option<u32>,
    ) -> Option<u32> {
        if self.outputs_win {
            // Turns of a session draw their own lengths.
            self.outputs.tokens(session ^ (u64::from(turn) << 40))
        } else if self.free {
            None
        } else {
            of_work().or(Some(Output::UNSAID))
        }
    }
}

impl Opening<'_> {
    pub fn open(self) -> Result<Workload, WorkloadError> {
        let work = self.work;
        let counts = self.counts.clone().map(CountCache::at);
        let tokenizer = match &work.tokenizer {
            Some(name) => Some(tokenizer::open(name, counts.as_ref())?),
            None => None,
        };
        let mut notes = Vec::new();
        if work.tokenizer == Some(TokenizerName::Bytes) {
            notes.push(Known::BytesAsTokens);
        }
        let mut arrivals = None;
        let prompts: Arc<dyn Prompts> = match &work.prompts {
            PromptSource::Text(text) => self.as_asked(Fixed::new(text), &tokenizer),
            PromptSource::Synthetic(spec) => {
                let ids = work.as_token_ids;
                let prompts = Synthetic::with_counts(
                    spec,
                    self.seed,
                    self.nonce,
                    tokenizer.clone(),
                    ids,
                    counts.as_ref(),
                )?;
                match work
                    .conversation
                    .as_ref()
                    .and_then(|talk| talk.turns.as_ref())
                {
                    Some(turns) => Arc::new(prompts.with_turns(turns)?),
                    None => Arc::new(prompts),
                }
            }
            PromptSource::Continuation(spec) => {
                let prompts = self.continuation(spec, tokenizer.clone())?;
                notes.push(Known::Template {
                    chars: prompts.template_chars(),
                    tokens: prompts.template_tokens(),
                });
                self.as_asked(prompts, &tokenizer)
            }
            PromptSource::Data(data) => {
                let selected = self.select(data, tokenizer.as_deref(), &mut notes)?;
                if selected.format.is_trace() {
                    let mut grouped = grouped(&selected.rows, self.path(&data.location))?;
                    arrivals = Some(std::mem::take(&mut grouped.arrivals));
                    let prompts = self.trace(grouped, tokenizer.clone())?;
                    Arc::new(self.capped(prompts)?)
                } else {
                    let folder = self.path(&data.location).parent().unwrap_or(Path::new("."));
                    let mut set = DataSet::new(selected)?.with_media_in(folder)?;
                    if self.only_sounds {
                        set = set.only_sounds()?;
                    }
                    self.as_asked(self.capped(set)?, &tokenizer)
                }
            }
        };
        Ok(Workload {
            prompts,
            outputs: OutputLengths::new(&work.output, self.seed)?,
            arrivals,
            media: Media::new(&work.media, self.seed, self.nonce)?,
            tokenizer,
            notes,
            free: work.output == Output::Free,
            outputs_win: matches!(work.output, Output::Tokens(_) | Output::AtMost(_)),
        })
    }

    fn path<'a>(&'a self, location: &'a str) -> &'a Path {
        self.file.unwrap_or(Path::new(location))
    }

    fn continuation(
        &self,
        spec: &work::Continuation,
        tokenizer: Option<Arc<dyn Tokenizer>>,
    ) -> Result<Continued, WorkloadError> {
        let pieces = match &spec.location {
            Some(location) => {
                let file = self.path(location);
                let (cut, _) = pieces(file, spec.piece, self.wanted, tokenizer.as_deref())?;
                Pieces::given(cut.into_iter().map(|piece| piece.text.into()).collect())?
            }
            None => Pieces::embedded(spec, tokenizer.as_ref())?,
        };
        Ok(Continued::new(spec, pieces, tokenizer)?)
    }

    fn select(
        &self,
        data: &DataSource,
        tokenizer: Option<&dyn Tokenizer>,
        notes: &mut Vec<Known>,
    ) -> Result<Selected, WorkloadError> {
        // Without the model's own tokenizer, lengths of reference answers and limits are counted
        // with a common one; then no length is claimed for what is sent.
        let stand_in = match tokenizer {
            Some(_) => None,
            None => Some(tokenizer::open(&TokenizerName::Cl100k, None)?),
        };
        let cache = self.counts.clone().map(CountCache::at);
        let selection = Selection {
            data,
            path: self.path(&data.location),
            wanted: self.wanted,
            seed: self.seed,
            tokenizer: tokenizer.or(stand_in.as_deref()),
            cache: cache.as_ref(),
        };
        let mut selected = selection.run()?;
        notes.extend(row_notes(&selected));
        if let Some(stand_in) = (stand_in.as_ref()).filter(|_| selected.format.is_log()) {
            notes.push(Known::DefaultTokenizer {
                tokenizer: stand_in.name().to_owned(),
            });
        }
        if let Some(stand_in) = stand_in.filter(|_| !selected.format.is_trace()) {
            let counted = |row: &crate::data::Picked| {
                row.reference_tokens.is_some() && row.row.output_tokens.is_none()
            };
            let limited = [data.min_prompt, data.max_prompt].into_iter().flatten();
            let by_tokens = limited
                .clone()
                .any(|limit| matches!(limit, work::PromptLength::Tokens(_)));
            let needed = data.filter.is_some()
                || by_tokens
                || (self.work.output == Output::FromWork && selected.rows.iter().any(counted));
            if needed {
                notes.push(Known::DefaultTokenizer {
                    tokenizer: stand_in.name().to_owned(),
                });
            }
            selected.forget_prompt_tokens();
        }
        Ok(selected)
    }

    fn trace(
        &self,
        grouped: Grouped,
        tokenizer: Option<Arc<dyn Tokenizer>>,
    ) -> Result<TracePrompts, WorkloadError> {
        let Grouped { rows, begins, .. } = grouped;
        let prompts = TracePrompts::new(
            rows,
            Language::En,
            self.seed,
            self.nonce,
            tokenizer,
            self.work.as_token_ids,
        )?;
        Ok(prompts.in_sessions(begins))
    }

    /// Conversations of at most as many turns as were asked for.
    fn capped<P: Prompts>(&self, set: P) -> Result<Capped<P>, WorkloadError> {
        let turns = (self.work.conversation.as_ref()).and_then(|talk| talk.turns.as_ref());
        Ok(Capped {
            set,
            most: turns.map(Sampler::new).transpose()?,
            seed: self.seed,
        })
    }

    /// As text, or as token ids.
    fn as_asked(
        &self,
        prompts: impl Prompts + 'static,
        tokenizer: &Option<Arc<dyn Tokenizer>>,
    ) -> Arc<dyn Prompts> {
        match tokenizer {
            Some(tokenizer) if self.work.as_token_ids => Arc::new(AsTokenIds {
                prompts,
                tokenizer: Arc::clone(tokenizer),
            }),
            _ => Arc::new(prompts),
        }
    }
}

/// What became of the rows.
fn row_notes(selected: &Selected) -> Vec<Known> {
    let mut notes = vec![Known::DataFormat {
        format: selected.format.to_string(),
        rows: selected.rows.len() as u64,
    }];
    if let Some(first) = selected.bad.first() {
        notes.push(Known::BadRows {
            count: selected.bad_count,
            line: first.line,
            reason: first.reason.to_string(),
        });
    }
    if selected.unusable > 0 {
        notes.push(Known::UnusableRows {
            count: selected.unusable,
        });
    }
    let filtered = selected.filtered_out.total();
    if filtered > 0 {
        notes.push(Known::FilteredRows {
            count: filtered,
            seen: selected.seen,
        });
    }
    if selected.end == End::Memory {
        notes.push(Known::DataTooLarge);
    }
    notes
}

/// Conversations of a data set or a trace, cut to a number of turns.
struct Capped<P> {
    set: P,
    most: Option<Sampler>,
    seed: u64,
}

impl<P: Prompts> Prompts for Capped<P> {
    fn turns(&self, session: u64) -> u32 {
        let all = self.set.turns(session);
        match &self.most {
            Some(most) => all.min(most.sample(&mut rng(self.seed, Dimension::Turns, session))),
            None => all,
        }
    }

    fn follows(&self, session: u64, turn: u32) -> Option<Follows> {
        self.set.follows(session, turn)
    }

    fn prompt(&self, session: u64, turn: u32) -> Prompt {
        self.set.prompt(session, turn)
    }

    fn output_tokens(&self, session: u64, turn: u32) -> Option<u32> {
        self.set.output_tokens(session, turn)
    }

    fn answer(&self, session: u64, turn: u32) -> Option<Arc<str>> {
        self.set.answer(session, turn)
    }

    fn expected(&self, session: u64, turn: u32) -> Option<Arc<str>> {
        self.set.expected(session, turn)
    }

    fn distinct(&self) -> Option<u64> {
        self.set.distinct()
    }
}

struct AsTokenIds<P> {
    prompts: P,
    tokenizer: Arc<dyn Tokenizer>,
}

impl<P: Prompts> Prompts for AsTokenIds<P> {
    fn prompt(&self, session: u64, turn: u32) -> Prompt {
        let mut prompt = self.prompts.prompt(session, turn);
        if let Content::Text(text) = &prompt.content {
            let ids = self.tokenizer.encode(text);
            prompt.input_tokens = u32::try_from(ids.len()).ok();
            prompt.content = Content::TokenIds(ids.into());
        }
        prompt
    }

    fn output_tokens(&self, session: u64, turn: u32) -> Option<u32> {
        self.prompts.output_tokens(session, turn)
    }

    fn expected(&self, session: u64, turn: u32) -> Option<Arc<str>> {
        self.prompts.expected(session, turn)
    }

    fn distinct(&self) -> Option<u64> {
        self.prompts.distinct()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::file;
    use inferometer_core::options::Options;

    fn work(toml: &str) -> Work {
        let options = Options::from_toml(&format!("[work]\n{toml}")).unwrap();
        options.resolve().unwrap().work
    }

    fn opened(toml: &str, file: Option<&Path>) -> Workload {
        let work = work(toml);
        let opening = Opening {
            work: &work,
            seed: 0,
            nonce: None,
            file,
            wanted: Some(8),
            only_sounds: false,
            counts: None,
        };
        opening.open().unwrap()
    }

    #[test]
    fn lengths_of_answers_come_from_the_user_the_work_or_nobody() {
        let data = file("{\"prompt\":\"a\",\"output_tokens\":7}\n{\"prompt\":\"b\"}\n");
        let asked = |toml: &str| {
            let workload = opened(&format!("data = 'x'\n{toml}"), Some(data.path()));
            [0, 1].map(|session| workload.prompt(session, 0).output_tokens)
        };
        assert_eq!(asked(""), [Some(7), Some(Output::UNSAID)]);
        assert_eq!(asked("output-tokens = 5"), [Some(5); 2]);
        assert_eq!(asked("max-tokens = 9"), [Some(9); 2]);
        assert_eq!(asked("output-tokens = 'free'"), [None; 2]);
    }

    #[test]
    fn a_stand_in_tokenizer_counts_answers_but_states_no_prompt_length() {
        let row = r#"[{"conversations":[{"from":"human","value":"How are you?"},{"from":"gpt","value":"Very well, thank you."}]}]"#;
        let data = file(row);
        let workload = opened("data = 'x'", Some(data.path()));
        let prompt = workload.prompt(0, 0);
        assert_eq!((prompt.input_tokens, prompt.output_tokens), (None, Some(6)));
        assert!(matches!(
            workload.notes.last(),
            Some(Known::DefaultTokenizer { .. })
        ));
        let workload = opened("data = 'x'\ntokenizer = 'cl100k'", Some(data.path()));
        assert_eq!(workload.prompt(0, 0).input_tokens, Some(4));
    }

    #[test]
    fn a_trace_gives_times_and_prompts_of_its_lengths() {
        let data = file(
            "{\"timestamp\":1000,\"input_length\":600,\"output_length\":5,\"hash_ids\":[1,2]}\n{\"timestamp\":1500,\"input_length\":512,\"output_length\":6,\"hash_ids\":[1]}\n",
        );
        let toml = "data = 'x'\ndata-format = 'mooncake'\ntokenizer = 'cl100k'";
        let workload = opened(toml, Some(data.path()));
        let arrivals = workload.arrivals.as_deref().unwrap();
        assert_eq!(arrivals, [Duration::ZERO, Duration::from_millis(500)]);
        let [first, second] = [0, 1].map(|session| workload.prompt(session, 0));
        assert_eq!(
            (first.input_tokens, second.input_tokens),
            (Some(600), Some(512))
        );
        assert_eq!(
            (first.output_tokens, second.output_tokens),
            (Some(5), Some(6))
        );
    }

    #[test]
    fn texts_become_token_ids_where_asked() {
        let workload = opened(
            "prompt = 'hello world'\nas-token-ids = true\ntokenizer = 'cl100k'",
            None,
        );
        let prompt = workload.prompt(0, 0);
        assert_eq!(prompt.input_tokens, Some(2));
        assert!(matches!(prompt.content, Content::TokenIds(ids) if ids.len() == 2));
    }

    #[test]
    fn conversations_are_cut_to_the_asked_turns() {
        let turns: Vec<String> = (0..6)
            .map(|turn| {
                let role = ["user", "assistant"][turn % 2];
                format!(r#"{{"role":"{role}","content":"said {turn}"}}"#)
            })
            .collect();
        let data = file(format!("{{\"messages\":[{}]}}\n", turns.join(",")));
        let toml = "data = 'x'\ndata-format = 'conversations'";
        assert_eq!(opened(toml, Some(data.path())).prompts.turns(0), 3);
        let capped = opened(&format!("{toml}\nturns = 2"), Some(data.path()));
        assert_eq!(capped.prompts.turns(0), 2);
        assert_eq!(capped.prompts.answer(0, 1).as_deref(), Some("said 3"));
    }
}
