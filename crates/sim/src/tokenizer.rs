//! What cuts prompts into tokens, and what answers are made of.
//!
//! A word is a token unless a real tokenizer is named; then prompt counts, limits, `/tokenize`
//! and the text of answers are that tokenizer's. The client has its own reading of the same
//! files, so that a mistake made twice cannot cancel out.

mod pieces;
mod template;
mod words;

pub(crate) use pieces::Piece;
use template::MOST_TIME;
pub(crate) use template::{ChatTemplate, OpensAnswer};
pub use words::word_ids;
pub(crate) use words::{Vocabulary, word_id};

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use crate::language::Language;
use inferometer_guard::{Most, bounded, guarded};
use tokenizers::ModelWrapper;

/// The file beside a model's weights.
pub const FILE: &str = "tokenizer.json";
/// The largest in use have some 35 MB; anything that is no ordinary file may never end.
const MOST_BYTES: u64 = 1 << 30;
/// The library keeps some vocabularies in a tree that is as deep as the longest token, and takes it
/// down by calls as deep: a thread's stack ends at some ten thousand.
const LONGEST_TOKEN: usize = 4 << 10;
/// What a file may take to be read and tried. Real ones take some ten bytes for each of theirs, and
/// a second or two.
const LEAST_ROOM: u64 = 256 << 20;
const ROOM_PER_BYTE: u64 = 50;
const MOST_OPENING: Duration = Duration::from_secs(30);
/// Real ones make at most a token or two of a byte.
const MOST_TOKENS_PER_BYTE: usize = 20;
const ENDLESS: &str = "it makes ever more of a short text";
/// Holds a character that no vocabulary has, so that a file which cannot encode every text is
/// found out at once, and what texts are made of, so that a rule which multiplies it is.
const PROBE: &str = "A probe: \u{10FFFD}é 中文。\n the quick brown fox jumps over the lazy dog, \
    THE QUICK BROWN FOX JUMPS OVER THE LAZY DOG 0123456789 !\"#$%&'()*+-./:;<=>?@[]^_`{|}~";

/// A tokenizer, and the pieces of which answers are made with it.
#[derive(Clone)]
pub struct Tokenizer {
    cutter: Arc<Cutter>,
    pieces: Arc<[Piece]>,
    /// Of Chinese answers.
    chinese: Arc<[Piece]>,
}

enum Cutter {
    Words,
    Bytes,
    OpenAi(&'static tiktoken::CoreBpe),
    File {
        tokenizer: Box<tokenizers::Tokenizer>,
        template: Option<Arc<ChatTemplate>>,
    },
}

#[derive(Debug, thiserror::Error)]
#[error(
    "{}: {why}; give a tokenizer.json, a model folder that holds one, cl100k, o200k, bytes or words",
    place.display()
)]
pub struct TokenizerError {
    pub place: PathBuf,
    /// What is wrong with it.
    pub why: String,
}

impl Default for Tokenizer {
    /// A word is a token.
    fn default() -> Tokenizer {
        Tokenizer::of(Cutter::Words)
    }
}

impl Tokenizer {
    /// The tokenizer of a name: `words`, `bytes`, `cl100k`, `o200k`, a `tokenizer.json` or a
    /// folder with one.
    ///
    /// # Errors
    ///
    /// If the name is a path and there is no usable file.
    pub fn named(name: &str) -> Result<Tokenizer, TokenizerError> {
        Ok(Tokenizer::of(match name.trim() {
            "words" => Cutter::Words,
            "bytes" => Cutter::Bytes,
            "cl100k" | "cl100k_base" => open_ai("cl100k_base"),
            "o200k" | "o200k_base" => open_ai("o200k_base"),
            place => return Tokenizer::at(Path::new(place)),
        }))
    }

    /// A `tokenizer.json`, or that of a folder, with the chat template beside it.
    ///
    /// # Errors
    ///
    /// If there is no usable file.
    pub fn at(place: &Path) -> Result<Tokenizer, TokenizerError> {
        let file = if place.is_dir() {
            place.join(FILE)
        } else {
            place.to_owned()
        };
        let bad = |why: String| TokenizerError {
            place: file.clone(),
            why: why.chars().filter(|c| !c.is_control()).take(300).collect(),
        };
        let about = fs::metadata(&file).map_err(|error| bad(error.to_string()))?;
        if !about.is_file() || about.len() > MOST_BYTES {
            return Err(bad(
                "it is not an ordinary file of less than 1 GiB".to_owned()
            ));
        }
        let bytes = fs::read(&file).map_err(|error| bad(error.to_string()))?;
        let most = Most {
            bytes: LEAST_ROOM.saturating_add(bytes.len() as u64 * ROOM_PER_BYTE),
            time: MOST_OPENING,
        };
        let opened = bounded(most, move || guarded(|| probed(&bytes)));
        let opened = opened.map_err(|_| bad(ENDLESS.to_owned()))?;
        let tokenizer = opened.and_then(|probed| probed).map_err(bad)?;
        // A file of another name may be one of many in its folder.
        let folder = file.parent().filter(|_| file.ends_with(FILE));
        let template = folder.and_then(ChatTemplate::in_folder).map(Arc::new);
        let is_bounded = |template: &Arc<ChatTemplate>| template.is_bounded(MOST_TIME);
        if !template.as_ref().is_none_or(is_bounded) {
            return Err(bad(
                "its chat template makes ever more of a message".to_owned()
            ));
        }
        Ok(Tokenizer::of(Cutter::File {
            tokenizer: Box::new(tokenizer),
            template,
        }))
    }

    fn of(cutter: Cutter) -> Tokenizer {
        let pieces: Arc<[Piece]> = pieces::of(&cutter).into();
        let chinese = pieces::chinese(&cutter).map(Into::into);
        Tokenizer {
            cutter: Arc::new(cutter),
            chinese: chinese.unwrap_or_else(|| Arc::clone(&pieces)),
            pieces,
        }
    }

    /// The tokens of a text, without any that a model adds around it.
    pub(crate) fn encode(&self, text: &str) -> Vec<u32> {
        self.cutter.encode(text)
    }

    /// The text of tokens; `None` where words stand for them, whose text the tokens do not tell.
    pub(crate) fn decode(&self, ids: &[u32]) -> Option<String> {
        match &*self.cutter {
            Cutter::Words => None,
            cutter => Some(cutter.decode(ids)),
        }
    }

    pub(crate) fn is_words(&self) -> bool {
        matches!(*self.cutter, Cutter::Words)
    }

    /// What is put around messages; `None` where nothing is known of it.
    pub(crate) fn template(&self) -> Option<&ChatTemplate> {
        match &*self.cutter {
            Cutter::File { template, .. } => template.as_deref(),
            _ => None,
        }
    }

    /// What answers are made of; at least one.
    pub(crate) fn pieces(&self, language: Language) -> &[Piece] {
        match language {
            Language::English => &self.pieces,
            Language::Chinese => &self.chinese,
        }
    }
}

impl Cutter {
    fn encode(&self, text: &str) -> Vec<u32> {
        match self {
            Cutter::Words => word_ids(text),
            Cutter::Bytes => text.bytes().map(u32::from).collect(),
            Cutter::OpenAi(encoder) => encoder.encode(text),
            Cutter::File { tokenizer, .. } => {
                let encoded = guarded(|| tokenizer.encode_fast(text, false));
                match encoded {
                    Ok(Ok(encoding)) => encoding.get_ids().to_vec(),
                    // The probe has passed, so only a broken file comes here.
                    _ => text.bytes().map(u32::from).collect(),
                }
            }
        }
    }

    /// What is no token of the vocabulary is left out.
    fn decode(&self, ids: &[u32]) -> String {
        let bytes = match self {
            Cutter::Words => Vec::new(),
            Cutter::Bytes => ids.iter().filter_map(|&id| u8::try_from(id).ok()).collect(),
            Cutter::OpenAi(encoder) => {
                let known = ids.iter().copied().filter(|&id| id < self.size());
                encoder.decode(&known.collect::<Vec<_>>())
            }
            Cutter::File { tokenizer, .. } => {
                let decoded = guarded(|| tokenizer.decode(ids, true));
                return decoded.map_or_else(|_| String::new(), Result::unwrap_or_default);
            }
        };
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Tokens of the vocabulary; 0 where it has no bounds.
    fn size(&self) -> u32 {
        let size = match self {
            Cutter::Words => 0,
            Cutter::Bytes => 256,
            Cutter::OpenAi(encoder) => encoder.vocab_size(),
            Cutter::File { tokenizer, .. } => tokenizer.get_vocab_size(true),
        };
        u32::try_from(size).unwrap_or(u32::MAX)
    }
}

fn open_ai(name: &str) -> Cutter {
    Cutter::OpenAi(
        tiktoken::get_encoding(name).expect("the features of the dependency name the vocabulary"),
    )
}

/// The longest text in a JSON file that may be a token.
fn longest_text(json: &[u8]) -> usize {
    let (mut longest, mut open, mut at) = (0, None, 0);
    while at < json.len() {
        match (json[at], open) {
            (b'\\', Some(_)) => at += 1,
            (b'"', None) => open = Some(at),
            (b'"', Some(start)) => {
                open = None;
                let before = &json[start.saturating_sub(40)..start];
                // A table of SentencePiece, long in every file that has it.
                if at - start > longest && !before.windows(8).any(|part| part == b"charsmap") {
                    longest = at - start;
                }
            }
            _ => {}
        }
        at += 1;
    }
    longest
}

/// A tokenizer that has encoded a short text.
fn probed(bytes: &[u8]) -> Result<tokenizers::Tokenizer, String> {
    let tokenizer = parse(bytes)?;
    let encoded = tokenizer.encode_fast(PROBE, false);
    let encoded = encoded.map_err(|error| format!("it cannot encode every text: {error}"))?;
    let (tokens, bytes) = (encoded.len(), PROBE.len());
    if tokens > bytes * MOST_TOKENS_PER_BYTE {
        return Err(format!("it makes {tokens} tokens of {bytes} bytes"));
    }
    Ok(tokenizer)
}

fn parse(bytes: &[u8]) -> Result<tokenizers::Tokenizer, String> {
    let longest = longest_text(bytes);
    if longest > LONGEST_TOKEN {
        return Err(format!("a token of {longest} bytes"));
    }
    let mut tokenizer =
        tokenizers::Tokenizer::from_bytes(bytes).map_err(|error| error.to_string())?;
    // Settings for training: with them prompts would be cut, filled up, or cut at random.
    tokenizer.with_padding(None);
    tokenizer
        .with_truncation(None)
        .map_err(|error| error.to_string())?;
    if let ModelWrapper::BPE(model) = tokenizer.get_model()
        && model.dropout.is_some()
    {
        let mut steady = model.clone();
        steady.dropout = None;
        tokenizer.with_model(steady);
    }
    Ok(tokenizer)
}

#[cfg(test)]
mod tests;
