//! A model's own tokenizer, from the `tokenizer.json` beside its weights.

use super::chat_template::{ChatTemplate, MOST_TIME};
use super::{CountCache, Tokenizer, TokenizerError, counts};
use inferometer_guard::{Endless, Most, bounded, guarded};
use inferometer_text::hostile;
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;
use std::{fs, io};
use tokenizers::{Encoding, ModelWrapper};
use xxhash_rust::xxh3::xxh3_64;

const FILE: &str = "tokenizer.json";
const SENTENCE_PIECE_FILE: &str = "tokenizer.model";
/// The largest in use have some 35 MB.
const MOST_BYTES: u64 = 1 << 30;
/// The library keeps some vocabularies in a tree that is as deep as the longest token, and takes it
/// down by calls as deep: a thread's stack ends at some ten thousand.
const LONGEST_TOKEN: usize = 4 << 10;
/// What a file may take to be read and tried. Real ones take some ten bytes for each of theirs, and
/// a second or two.
const LEAST_ROOM: u64 = 256 << 20;
const ROOM_PER_BYTE: u64 = 50;
const MOST_OPENING: Duration = Duration::from_secs(30);
/// Real ones make at most a token or two of a byte; what makes thousands is given up sooner than the
/// memory is full.
const MOST_TOKENS_PER_BYTE: usize = 20;
const GIT_LFS_POINTER: &[u8] = b"version https://git-lfs.github.com/";
/// Holds a character that no vocabulary has, so that a model without a token for the unknown
/// is found out at once, and what texts are made of, so that a rule which multiplies it is.
const PROBE: &str = "A probe: \u{10FFFD}é 中文。\n the quick brown fox jumps over the lazy dog, \
    THE QUICK BROWN FOX JUMPS OVER THE LAZY DOG 0123456789 !\"#$%&'()*+-./:;<=>?@[]^_`{|}~";
/// Its length does not matter, only what a template puts around it.
const MESSAGE: &str = "What do the tides have to do with the moon?";

/// A tokenizer in the format of Hugging Face. Special tokens in a text are recognised, as
/// servers do; none is added.
pub struct HuggingFace {
    name: String,
    digest: u64,
    file: PathBuf,
    /// What the file holds, until it is read: a run whose counts are all known needs no more.
    bytes: Mutex<Vec<u8>>,
    /// Absent only where a file that was read before no longer can be.
    read: OnceLock<Option<tokenizers::Tokenizer>>,
    template_tokens: Option<u32>,
}

impl HuggingFace {
    /// Opens a `tokenizer.json`, or that of a model's folder, with the chat template beside it.
    /// One whose probe is in the cache was read before, and is read again when it is needed.
    pub fn open(place: &Path, cache: Option<&CountCache>) -> Result<Self, TokenizerError> {
        let file = tokenizer_file(place)?;
        let bytes = read(&file)?;
        if bytes.starts_with(GIT_LFS_POINTER) {
            return Err(TokenizerError::Pointer { path: file });
        }
        let digest = xxh3_64(&bytes);
        let mut opened = HuggingFace {
            name: place.display().to_string(),
            digest,
            bytes: Mutex::default(),
            read: OnceLock::new(),
            template_tokens: None,
            file,
        };
        if cache.is_some_and(|cache| cache.knows(PROBE, digest)) {
            opened.bytes = Mutex::new(bytes);
        } else {
            opened.read = OnceLock::from(Some(parse_bounded(&opened.file, bytes)?));
            counts(&[PROBE], &opened, cache);
        }
        // A file of another name may be one of many in its folder.
        if opened.file.file_name().is_some_and(|name| name == FILE) {
            let folder = opened.file.parent().unwrap_or(Path::new("."));
            opened.template_tokens = opened.tokens_around_a_message(folder, cache)?;
        }
        Ok(opened)
    }

    fn encoding(&self, text: &str) -> Result<Encoding, String> {
        let read = self.read.get_or_init(|| {
            let mut bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
            parse_bounded(&self.file, mem::take(&mut bytes)).ok()
        });
        let read = read.as_ref().ok_or("it can no longer be read")?;
        guarded(|| read.encode_fast(text, false))?.map_err(|error| error.to_string())
    }

    fn tokens_around_a_message(
        &self,
        folder: &Path,
        cache: Option<&CountCache>,
    ) -> Result<Option<u32>, TokenizerError> {
        let Some(template) = ChatTemplate::in_folder(folder) else {
            return Ok(None);
        };
        let rendered = template.render_bounded(MESSAGE, MOST_TIME);
        let text = rendered.map_err(|Endless| TokenizerError::EndlessTemplate {
            folder: folder.to_owned(),
        })?;
        Ok(text.and_then(|text| {
            let both = counts(&[text.as_str(), MESSAGE], self, cache);
            both[0].checked_sub(both[1])
        }))
    }
}

impl Tokenizer for HuggingFace {
    fn name(&self) -> &str {
        &self.name
    }

    fn encode(&self, text: &str) -> Vec<u32> {
        match self.encoding(text) {
            Ok(encoding) => encoding.get_ids().to_vec(),
            // The probe has passed, so only a broken file comes here; better too long than 0.
            Err(_) => text.bytes().map(u32::from).collect(),
        }
    }

    fn count(&self, text: &str) -> u32 {
        let count = self.encoding(text).map_or(text.len(), |it| it.len());
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    fn template_tokens(&self) -> Option<u32> {
        self.template_tokens
    }

    fn digest(&self) -> u64 {
        self.digest
    }
}

fn tokenizer_file(place: &Path) -> Result<PathBuf, TokenizerError> {
    let is_folder = fs::metadata(place)
        .map_err(|source| unreadable(place, source))?
        .is_dir();
    let file = if is_folder {
        place.join(FILE)
    } else {
        place.to_owned()
    };
    let sentence_piece = file.with_file_name(SENTENCE_PIECE_FILE);
    if is_folder && file.exists() || !is_folder && file != sentence_piece {
        Ok(file)
    } else if sentence_piece.exists() {
        Err(TokenizerError::SentencePiece {
            path: sentence_piece,
        })
    } else {
        Err(TokenizerError::NoTokenizer {
            folder: place.to_owned(),
        })
    }
}

fn read(file: &Path) -> Result<Vec<u8>, TokenizerError> {
    let metadata = fs::metadata(file).map_err(|source| unreadable(file, source))?;
    // Anything else may never end.
    if !metadata.is_file() || metadata.len() > MOST_BYTES {
        let reason = "it is not an ordinary file of less than 1 GiB";
        return Err(unreadable(file, io::Error::other(reason)));
    }
    fs::read(file).map_err(|source| unreadable(file, source))
}

fn unreadable(path: &Path, source: io::Error) -> TokenizerError {
    TokenizerError::Unreadable {
        path: path.to_owned(),
        source,
    }
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

/// Reads and tries what a file holds, within bounds of time and memory.
fn parse_bounded(file: &Path, bytes: Vec<u8>) -> Result<tokenizers::Tokenizer, TokenizerError> {
    let most = Most {
        bytes: LEAST_ROOM.saturating_add(bytes.len() as u64 * ROOM_PER_BYTE),
        time: MOST_OPENING,
    };
    let path = file.to_owned();
    match bounded(most, move || guarded(|| probed(&bytes))) {
        Err(Endless) => Err(TokenizerError::Endless { path }),
        Ok(Ok(Ok(tokenizer))) => Ok(tokenizer),
        Ok(Ok(Err(reason)) | Err(reason)) => Err(TokenizerError::Damaged {
            path,
            reason: hostile::printable(&reason, 300),
        }),
    }
}

/// A tokenizer that has encoded a short text.
fn probed(bytes: &[u8]) -> Result<tokenizers::Tokenizer, String> {
    let tokenizer = parse(bytes)?;
    let encoded = tokenizer.encode_fast(PROBE, false);
    let encoded = encoded.map_err(|error| format!("it cannot encode every text: {error}"))?;
    if encoded.len() > PROBE.len() * MOST_TOKENS_PER_BYTE {
        return Err(format!(
            "it makes {} tokens of {} bytes",
            encoded.len(),
            PROBE.len()
        ));
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
    // These are settings for training and batches; left in, a long prompt would count 512.
    tokenizer.with_padding(None);
    tokenizer
        .with_truncation(None)
        .map_err(|error| error.to_string())?;
    if let ModelWrapper::BPE(model) = tokenizer.get_model()
        && model.dropout.is_some()
    {
        // Left in, equal texts would have different counts.
        let mut steady = model.clone();
        steady.dropout = None;
        tokenizer.with_model(steady);
    }
    Ok(tokenizer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value as Json, json};
    use tempfile::TempDir;

    const CHAT_ML: &str = "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

    /// A byte a token, but for `hello` and two special tokens.
    fn tiny() -> Json {
        let mut stand_ins = 256..;
        let mut vocabulary: serde_json::Map<String, Json> = (0..=255_u32)
            .map(|byte| {
                let shown = matches!(byte, 33..=126 | 161..=172 | 174..=255);
                let letter = if shown { Some(byte) } else { stand_ins.next() };
                let letter = letter.and_then(char::from_u32).expect("a character");
                (letter.to_string(), json!(byte))
            })
            .collect();
        for (place, piece) in ["he", "ll", "hell", "hello"].into_iter().enumerate() {
            vocabulary.insert(piece.to_owned(), json!(256 + place));
        }
        let special = |id: u32, content: &str| json!({"id": id, "content": content, "special": true, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false});
        json!({
            "version": "1.0",
            "truncation": {"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0},
            "padding": {"strategy": {"Fixed": 64}, "direction": "Right", "pad_to_multiple_of": null, "pad_id": 0, "pad_type_id": 0, "pad_token": "!"},
            "added_tokens": [special(260, "<|im_start|>"), special(261, "<|im_end|>")],
            "normalizer": null,
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
            "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<|im_start|>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}], "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}], "special_tokens": {"<|im_start|>": {"id": "<|im_start|>", "ids": [260], "tokens": ["<|im_start|>"]}}},
            "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true},
            "model": {"type": "BPE", "dropout": 0.5, "unk_token": null, "continuing_subword_prefix": null, "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "vocab": vocabulary, "merges": ["h e", "l l", "he ll", "hell o"]}
        })
    }

    fn folder(files: &[(&str, &str)]) -> TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            fs::write(folder.path().join(name), text).expect("it can be written");
        }
        folder
    }

    fn open(files: &[(&str, &str)]) -> Result<HuggingFace, TokenizerError> {
        HuggingFace::open(folder(files).path(), None)
    }

    fn refusal(files: &[(&str, &str)]) -> String {
        let message = open(files).err().expect("it is refused").to_string();
        assert!(!message.contains('\n'), "{message}");
        message
    }

    #[test]
    fn a_text_is_encoded_whole_and_without_added_tokens() {
        let tokenizer = open(&[(FILE, &tiny().to_string())]).expect("it opens");
        assert_eq!(tokenizer.encode("hello"), [259]);
        // No padding to 64, no cut at 4, no dropout.
        assert_eq!(tokenizer.encode("hello!hello!hello!").len(), 6);
        assert_eq!(tokenizer.count("é"), 2);
        assert_eq!(tokenizer.count(""), 0);
        assert_eq!(tokenizer.encode("<|im_start|>hello"), [260, 259]);
        assert_eq!(tokenizer.template_tokens(), None);
    }

    #[test]
    fn a_file_that_was_tried_before_is_read_when_a_text_must_be_encoded() {
        let folder = folder(&[
            (FILE, &tiny().to_string()),
            ("chat_template.jinja", CHAT_ML),
        ]);
        let cache = CountCache::at(folder.path().join("cache"));
        let open = || HuggingFace::open(folder.path(), Some(&cache)).expect("it opens");
        let first = open();
        assert!(first.read.get().is_some());
        let again = open();
        assert!(again.read.get().is_none(), "its counts are known");
        assert_eq!(again.template_tokens(), first.template_tokens());
        assert_eq!(again.encode("hello"), [259]);
        fs::write(folder.path().join(FILE), "{}").expect("it can be written");
        let damaged = HuggingFace::open(folder.path(), Some(&cache)).err();
        assert!(
            matches!(damaged, Some(TokenizerError::Damaged { .. })),
            "another file is tried"
        );
    }

    #[test]
    fn a_file_is_the_same_tokenizer_as_its_folder() {
        let text = tiny().to_string();
        let folder = folder(&[(FILE, &text), ("chat_template.jinja", CHAT_ML)]);
        let by_folder = HuggingFace::open(folder.path(), None).expect("it opens");
        let by_file = HuggingFace::open(&folder.path().join(FILE), None).expect("it opens");
        assert_eq!(by_folder.digest(), by_file.digest());
        assert_eq!(by_folder.template_tokens(), by_file.template_tokens());
        assert_eq!(
            by_file.name(),
            folder.path().join(FILE).display().to_string()
        );
        let other = open(&[(FILE, &format!("{text} "))]).expect("it opens");
        assert_ne!(other.digest(), by_file.digest());
    }

    #[test]
    fn template_tokens_are_those_around_the_message() {
        let text = tiny().to_string();
        // <|im_start|> user\n … <|im_end|> \n <|im_start|> assistant\n
        let around = 1 + 5 + 1 + 1 + 1 + 10;
        let config = json!({"chat_template": CHAT_ML}).to_string();
        let by_key = open(&[(FILE, &text), ("tokenizer_config.json", &config)]);
        assert_eq!(by_key.expect("it opens").template_tokens(), Some(around));

        let named = format!("{{{{ bos_token }}}}{CHAT_ML}{{{{ eos_token }}}}");
        let config = json!({
            "bos_token": "<|im_end|>", "eos_token": {"content": "<|im_end|>"}, "unk_token": null,
            "chat_template": [{"name": "rag", "template": "x"}, {"name": "default", "template": named}]
        });
        let by_list = open(&[
            (FILE, &text),
            ("tokenizer_config.json", &config.to_string()),
        ]);
        assert_eq!(
            by_list.expect("it opens").template_tokens(),
            Some(around + 2)
        );

        let by_file = open(&[
            (FILE, &text),
            ("tokenizer_config.json", &config.to_string()),
            ("chat_template.jinja", CHAT_ML),
        ]);
        assert_eq!(by_file.expect("it opens").template_tokens(), Some(around));

        for config in [
            r#"{"chat_template": "{{ raise_exception('no') }}"}"#,
            "{",
            "[]",
        ] {
            let broken = open(&[(FILE, &text), ("tokenizer_config.json", config)]);
            assert_eq!(broken.expect("it opens").template_tokens(), None);
        }
    }

    #[test]
    fn a_refusal_says_what_is_missing() {
        let missing = HuggingFace::open(Path::new("/no/such/place"), None).err();
        let message = missing.expect("it is refused").to_string();
        assert!(message.contains("/no/such/place") && message.contains("cl100k"));
        assert!(refusal(&[]).contains("holds no tokenizer.json"));
        let sentence_piece = refusal(&[(SENTENCE_PIECE_FILE, "\u{0}")]);
        assert!(sentence_piece.contains("convert") && sentence_piece.contains("cl100k"));
        let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n";
        assert!(refusal(&[(FILE, pointer)]).contains("git lfs pull"));
    }

    #[test]
    fn a_damaged_file_is_refused_and_never_a_panic() {
        let text = tiny().to_string();
        let mut damaged: Vec<String> = (0..text.len())
            .step_by(997)
            .filter_map(|end| text.get(..end).map(str::to_owned))
            .collect();
        damaged.push("[]".to_owned());
        damaged.push("[".repeat(100_000));
        let mut no_token_for_the_unknown = tiny();
        no_token_for_the_unknown["model"] =
            json!({"type": "WordLevel", "vocab": {"hello": 0}, "unk_token": "[UNK]"});
        damaged.push(no_token_for_the_unknown.to_string());
        let mut merges_of_nothing = tiny();
        merges_of_nothing["model"]["merges"] = json!(["no such"]);
        damaged.push(merges_of_nothing.to_string());
        let mut panics_within = tiny();
        panics_within["normalizer"] = json!({"precompiled_charsmap": "AAAA"});
        damaged.push(panics_within.to_string());
        for text in damaged {
            let message = refusal(&[(FILE, &text)]);
            assert!(message.contains("not a usable tokenizer.json"), "{message}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn a_count_is_the_number_of_tokens(text in any::<String>()) {
            let tokenizer = open(&[(FILE, &tiny().to_string())]).expect("it opens");
            prop_assert_eq!(tokenizer.count(&text) as usize, tokenizer.encode(&text).len());
        }
    }
}
