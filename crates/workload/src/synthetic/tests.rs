use super::words::words;
use super::*;
use crate::Content;
use crate::testing::text;
use crate::tokenizer::{Bytes, Tiktoken};
use inferometer_core::length::Distribution;
use inferometer_core::work::{Language, Prefix, PrefixSpread};
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Cuts a text into pieces of three characters, so that words have no count of their own.
struct Threes;

impl Tokenizer for Threes {
    fn name(&self) -> &str {
        "threes"
    }

    fn encode(&self, text: &str) -> Vec<u32> {
        let chars: Vec<char> = text.chars().collect();
        let id = |piece: &[char]| piece.iter().fold(7, |id, &c| id * 31 % 65_521 + c as u32);
        chars.chunks(3).map(id).collect()
    }

    fn digest(&self) -> u64 {
        3
    }
}

/// Puts a space before every text, as SentencePiece does, cuts before spaces and then into pairs
/// of bytes.
struct Pairs;

impl Tokenizer for Pairs {
    fn name(&self) -> &str {
        "pairs"
    }

    fn encode(&self, text: &str) -> Vec<u32> {
        let words = text.split(' ').filter(|_| !text.is_empty());
        let spaced = words.map(|word| format!(" {word}").into_bytes());
        let id = |pair: &[u8]| pair.iter().fold(0, |id, &byte| id * 256 + u32::from(byte));
        let ids = |word: Vec<u8>| word.chunks(2).map(id).collect::<Vec<_>>();
        spaced.flat_map(ids).collect()
    }

    fn digest(&self) -> u64 {
        2
    }
}

fn nonce() -> Nonce {
    Nonce::from_random(0x0123_4567_89ab_cdef)
}

fn spec(lengths: Distribution) -> work::Synthetic {
    work::Synthetic {
        lengths: SyntheticLengths::Input(LengthSpec::Drawn(lengths)),
        language: Language::En,
        prefix: None,
    }
}

fn plain(lengths: Distribution, seed: u64, nonce: Option<Nonce>) -> Synthetic {
    Synthetic::new(&spec(lengths), seed, nonce, None, false).unwrap()
}

fn tokenizers() -> [Arc<dyn Tokenizer>; 5] {
    [
        Arc::new(Tiktoken::cl100k()),
        Arc::new(Tiktoken::o200k()),
        Arc::new(Bytes),
        Arc::new(Threes),
        Arc::new(Pairs),
    ]
}

#[test]
fn a_plain_prompt_has_exactly_the_asked_words_and_single_spaces() {
    for length in [1, 2, 3, 4, 5, 6, 7, 12, 13, 256, 4096] {
        for nonce in [None, Some(nonce())] {
            let prompt = plain(Distribution::Fixed(length), 1, nonce).prompt(5, 0);
            assert_eq!(text(&prompt).split(' ').count(), length as usize);
            assert!(text(&prompt).split(' ').all(|word| words().contains(&word)));
            assert_eq!(prompt.input_tokens, Some(length));
            assert_eq!(prompt.chars, text(&prompt).chars().count() as u64);
        }
    }
}

#[test]
fn lengths_are_drawn_and_stated() {
    let prompts = plain(Distribution::Uniform(5, 500), 1, None);
    let lengths: HashSet<Option<u32>> = (0..100)
        .map(|index| prompts.prompt(index, 0))
        .inspect(|prompt| {
            let words = text(prompt).split(' ').count() as u32;
            assert_eq!(prompt.input_tokens, Some(words));
        })
        .map(|prompt| prompt.input_tokens)
        .collect();
    assert!(lengths.len() > 50);
}

#[test]
fn seed_and_nonce_repeat_a_prompt_and_each_changes_it() {
    for tokenizer in [
        None,
        Some(Arc::new(Tiktoken::cl100k()) as Arc<dyn Tokenizer>),
    ] {
        let make = |seed, nonce| {
            let spec = spec(Distribution::Fixed(64));
            let prompts = Synthetic::new(&spec, seed, nonce, tokenizer.clone(), false).unwrap();
            prompts.prompt(3, 0)
        };
        assert_eq!(make(1, Some(nonce())), make(1, Some(nonce())));
        assert_ne!(make(1, None), make(2, None));
        assert_ne!(make(1, None), make(1, Some(nonce())));
        let other = Some(Nonce::from_random(1));
        assert_ne!(make(1, other), make(1, Some(nonce())));
    }
}

#[test]
fn the_words_of_a_seed_never_change() {
    // Stored scenarios name only the seed: their prompts must come out the same for ever.
    let prompt = plain(Distribution::Fixed(8), 42, None).prompt(7, 0);
    assert_eq!(
        text(&prompt),
        "blank hole first manager though mouse current express"
    );
}

#[test]
fn the_nonce_begins_every_prompt_and_fits_into_short_ones() {
    let words = nonce().to_string();
    for tokenizer in [
        None,
        Some(Arc::new(Tiktoken::cl100k()) as Arc<dyn Tokenizer>),
    ] {
        let make = |length, index| {
            let spec = spec(Distribution::Fixed(length));
            let prompts = Synthetic::new(&spec, 1, Some(nonce()), tokenizer.clone(), false);
            prompts.unwrap().prompt(index, 0)
        };
        for index in 0..10 {
            assert!(text(&make(16, index)).starts_with(&words));
        }
        assert!(words.starts_with(text(&make(2, 0))));
    }
}

#[test]
fn prompts_differ_within_their_first_block_of_cache() {
    let prompts = plain(Distribution::Fixed(64), 1, Some(nonce()));
    let heads: HashSet<String> = (0..20_000)
        .map(|index| {
            let prompt = prompts.prompt(index, 0);
            let head: Vec<&str> = text(&prompt).split(' ').take(16).collect();
            head.join(" ")
        })
        .collect();
    assert_eq!(heads.len(), 20_000);
    assert_eq!(prompts.distinct(), None);
}

#[test]
fn too_few_words_are_said_to_repeat() {
    let distinct = |lengths, nonce| plain(lengths, 1, nonce).distinct();
    assert_eq!(distinct(Distribution::Fixed(1), None), Some(1024));
    assert_eq!(distinct(Distribution::Fixed(4), Some(nonce())), Some(1));
    assert_eq!(
        distinct(Distribution::Uniform(1, 2), None),
        Some(1024 + 1024 * 1024)
    );
    assert_eq!(distinct(Distribution::Fixed(256), None), None);
    let shared = |longest| {
        let lengths = Distribution::Uniform(10, longest);
        let spec = with_prefix(PrefixLength::Tokens(100), lengths);
        Synthetic::new(&spec, 1, None, None, false)
            .unwrap()
            .distinct()
    };
    assert_eq!(shared(101), Some(5 * 1024));
    assert_eq!(shared(104), None);
}

#[test]
fn every_length_is_exact_in_every_tokenizer_and_language() {
    for tokenizer in tokenizers() {
        for language in [Language::En, Language::Zh] {
            for nonce in [None, Some(nonce())] {
                let mut spec = spec(Distribution::Uniform(1, 2_000));
                spec.language = language;
                let made = Synthetic::new(&spec, 9, nonce, Some(tokenizer.clone()), false).unwrap();
                let short = 1..=40;
                let sampled = (0..60).map(|index| made.lengths.draw(9, index).0);
                for (index, length) in (0..).zip(short.chain(sampled)) {
                    let source = Source::Prompt(index);
                    let stretches = [Stretch {
                        source,
                        tokens: length,
                    }];
                    let prompt = made.writer.prompt(true, &stretches);
                    let what = format!("{} {language} {nonce:?}", tokenizer.name());
                    assert_eq!(prompt.input_tokens, Some(length), "{what}");
                    assert_eq!(tokenizer.count(text(&prompt)), length, "{what}");
                    assert_eq!(prompt.chars, text(&prompt).chars().count() as u64);
                }
            }
        }
    }
}

#[test]
fn english_reads_as_sentences() {
    let tokenizer: Arc<dyn Tokenizer> = Arc::new(Tiktoken::cl100k());
    let spec = spec(Distribution::Fixed(400));
    let prompts = Synthetic::new(&spec, 1, None, Some(tokenizer), false).unwrap();
    let prompt = prompts.prompt(0, 0);
    assert!(text(&prompt).ends_with('.'));
    for sentence in text(&prompt).trim_end_matches('.').split(". ") {
        assert!(sentence.starts_with(|c: char| c.is_ascii_uppercase()));
        assert!(sentence.split(' ').count() <= 16, "{sentence}");
    }
    assert_eq!(prompts.distinct(), None);
}

#[test]
fn ids_are_those_of_a_text_of_the_asked_length() {
    for tokenizer in tokenizers() {
        let spec = spec(Distribution::Uniform(1, 300));
        let prompts = Synthetic::new(&spec, 1, None, Some(tokenizer.clone()), true).unwrap();
        let texts = Synthetic::new(&spec, 1, None, Some(tokenizer.clone()), false).unwrap();
        for index in 0..50 {
            let prompt = prompts.prompt(index, 0);
            let Content::TokenIds(ids) = &prompt.content else {
                panic!("{:?}", prompt.content);
            };
            assert_eq!(prompt.input_tokens, Some(ids.len() as u32));
            assert_eq!(**ids, tokenizer.encode(text(&texts.prompt(index, 0))));
        }
    }
}

#[test]
fn what_needs_a_tokenizer_says_so() {
    let refused = |spec: &work::Synthetic, as_token_ids| {
        let error = Synthetic::new(spec, 1, None, None, as_token_ids).err();
        error.expect("it is refused").to_string()
    };
    let english = spec(Distribution::Fixed(9));
    let chinese = work::Synthetic {
        language: Language::Zh,
        ..english.clone()
    };
    assert!(refused(&english, true).contains("--tokenizer"));
    assert!(refused(&chinese, false).contains("--tokenizer"));
}

fn with_prefix(length: PrefixLength, lengths: Distribution) -> work::Synthetic {
    work::Synthetic {
        prefix: Some(Prefix {
            length,
            groups: 5,
            spread: PrefixSpread::Uniform,
        }),
        ..spec(lengths)
    }
}

/// Tokens that two texts have in common at their beginnings.
fn shared(tokenizer: &dyn Tokenizer, one: &Prompt, other: &Prompt) -> usize {
    let (one, other) = (tokenizer.encode(text(one)), tokenizer.encode(text(other)));
    one.iter().zip(&other).take_while(|(a, b)| a == b).count()
}

#[test]
fn prompts_of_a_group_share_the_prefix_and_no_more_and_the_length_includes_it() {
    let cl100k: Arc<dyn Tokenizer> = Arc::new(Tiktoken::cl100k());
    for tokenizer in [None, Some(cl100k.clone())] {
        let spec = with_prefix(PrefixLength::Tokens(100), Distribution::Uniform(150, 200));
        let prompts = Synthetic::new(&spec, 3, Some(nonce()), tokenizer.clone(), false).unwrap();
        let made: Vec<Prompt> = (0..60).map(|index| prompts.prompt(index, 0)).collect();
        let mut groups: HashMap<String, Vec<&Prompt>> = HashMap::new();
        for prompt in &made {
            let words = text(prompt).split(' ').take(50);
            groups
                .entry(words.collect::<Vec<_>>().join(" "))
                .or_default()
                .push(prompt);
            assert_eq!(prompt.input_tokens, Some(cl100k.count(text(prompt))));
            assert!((150..=200).contains(&prompt.input_tokens.unwrap()));
            assert!(text(prompt).starts_with(&nonce().to_string()));
        }
        assert_eq!(groups.len(), 5);
        for members in groups.values() {
            for pair in members.windows(2) {
                assert!((100..103).contains(&shared(&*cl100k, pair[0], pair[1])));
            }
        }
    }
}

#[test]
fn a_share_makes_shorter_prefixes_the_beginnings_of_longer_ones() {
    let cl100k: Arc<dyn Tokenizer> = Arc::new(Tiktoken::cl100k());
    for tokenizer in [None, Some(cl100k.clone())] {
        let spec = with_prefix(PrefixLength::Share(0.5), Distribution::Uniform(200, 2_000));
        let prompts = Synthetic::new(&spec, 3, None, tokenizer.clone(), false).unwrap();
        let groups = prompts.groups.as_ref().unwrap();
        let of_group = (0..100).filter(|&index| groups.of(3, index) == 2);
        let made: Vec<Prompt> = of_group.map(|index| prompts.prompt(index, 0)).collect();
        assert!(made.len() > 5);
        for pair in made.windows(2) {
            let tokens = |prompt: &Prompt| prompt.input_tokens.unwrap() / 2;
            let expected = tokens(&pair[0]).min(tokens(&pair[1])) as usize;
            let found = shared(&*cl100k, &pair[0], &pair[1]);
            assert!(found.abs_diff(expected) <= 3, "{found} of {expected}");
        }
    }
}

#[test]
fn a_prefix_without_room_is_refused_or_makes_room() {
    let spec = with_prefix(PrefixLength::Tokens(100), Distribution::Uniform(10, 100));
    let message = Synthetic::new(&spec, 1, None, None, false).err().unwrap();
    assert_eq!(
        message.to_string(),
        "--prefix-tokens 100 leaves no room in prompts of at most 100 tokens; give a shorter prefix or longer --input-tokens"
    );
    let spec = with_prefix(PrefixLength::Tokens(100), Distribution::Uniform(10, 101));
    let prompts = Synthetic::new(&spec, 1, None, None, false).unwrap();
    for index in 0..20 {
        let prompt = prompts.prompt(index, 0);
        assert_eq!(prompt.input_tokens, Some(101));
        assert_eq!(text(&prompt).split(' ').count(), 101);
    }
}

#[test]
fn a_pair_gives_the_length_of_the_answer_too() {
    let spec = work::Synthetic {
        lengths: SyntheticLengths::Pairs("20:5,30:7".parse().unwrap()),
        ..spec(Distribution::Fixed(1))
    };
    let prompts = Synthetic::new(&spec, 1, None, None, false).unwrap();
    let made: HashSet<_> = (0..50)
        .map(|index| prompts.prompt(index, 0))
        .map(|prompt| (prompt.input_tokens, prompt.output_tokens))
        .collect();
    let pairs = [(Some(20), Some(5)), (Some(30), Some(7))];
    assert_eq!(made, HashSet::from(pairs));
}

#[test]
fn later_turns_are_new_and_begin_with_neither_nonce_nor_prefix() {
    let spec = with_prefix(PrefixLength::Tokens(10), Distribution::Fixed(30));
    let turns = LengthSpec::Drawn(Distribution::Uniform(2, 4));
    let prompts = Synthetic::new(&spec, 1, Some(nonce()), None, false).unwrap();
    let prompts = prompts.with_turns(&turns).unwrap();
    let mut texts = HashSet::new();
    for session in 0..50 {
        let turns = prompts.turns(session);
        assert!((2..=4).contains(&turns));
        for turn in 0..turns {
            let prompt = prompts.prompt(session, turn);
            assert_eq!(prompt.input_tokens, Some(30));
            let opens = text(&prompt).starts_with(&nonce().to_string());
            assert_eq!(opens, turn == 0);
            assert!(texts.insert(text(&prompt).to_owned()));
        }
    }
    assert_eq!(plain(Distribution::Fixed(9), 1, None).turns(3), 1);
}

/// Knows how often it was asked, and may make one token of two words beside each other.
struct Asked {
    tokenizer: Tiktoken,
    merges: Option<&'static str>,
    texts: AtomicU64,
}

impl Asked {
    fn new(merges: Option<&'static str>) -> Arc<Self> {
        Arc::new(Asked {
            tokenizer: Tiktoken::cl100k(),
            merges,
            texts: AtomicU64::new(0),
        })
    }
}

impl Tokenizer for Asked {
    fn name(&self) -> &str {
        self.tokenizer.name()
    }

    fn encode(&self, text: &str) -> Vec<u32> {
        self.texts.fetch_add(1, Relaxed);
        match self.merges {
            Some(pair) => self.tokenizer.encode(&text.replace(pair, "word")),
            None => self.tokenizer.encode(text),
        }
    }

    fn digest(&self) -> u64 {
        self.tokenizer.digest()
    }
}

/// Makes prompts from the second on, and says how many texts were counted for them.
fn counted_for(asked: &Arc<Asked>, spec: &work::Synthetic, prompts: u64) -> u64 {
    let tokenizer: Arc<dyn Tokenizer> = asked.clone();
    let source = Synthetic::new(spec, 1, Some(nonce()), Some(tokenizer), false).unwrap();
    let before = asked.texts.load(Relaxed);
    let made: Vec<Prompt> = (1..=prompts).map(|at| source.prompt(at, 0)).collect();
    let counted = asked.texts.load(Relaxed) - before;
    for prompt in made {
        let tokens = asked.count(text(&prompt));
        assert_eq!(prompt.input_tokens, Some(tokens));
    }
    counted
}

#[test]
fn where_words_add_up_no_prompt_is_counted_and_all_have_the_asked_length() {
    let mut spec = spec(Distribution::Uniform(64, 200));
    let counted = counted_for(&Asked::new(None), &spec, 2_100);
    assert_eq!(counted, 0);
    spec.prefix = Some(Prefix {
        length: PrefixLength::Tokens(40),
        groups: 3,
        spread: PrefixSpread::Uniform,
    });
    let counted = counted_for(&Asked::new(None), &spec, 2_100);
    assert_eq!(counted, 0);
}

#[test]
fn a_later_run_asks_the_tokenizer_for_nothing_whatever_its_nonce() {
    let folder = tempfile::tempdir().unwrap();
    let cache = CountCache::at(folder.path().to_owned());
    let asked_by = |random| {
        let asked = Asked::new(None);
        let nonce = Nonce::from_random(random);
        let spec = spec(Distribution::Uniform(64, 200));
        let tokenizer: Arc<dyn Tokenizer> = asked.clone();
        let cache = Some(&cache);
        let source =
            Synthetic::with_counts(&spec, 1, Some(nonce), Some(tokenizer), false, cache).unwrap();
        let prompts: Vec<Prompt> = (0..50).map(|at| source.prompt(at, 0)).collect();
        let texts = asked.texts.load(Relaxed);
        for prompt in prompts {
            assert_eq!(prompt.input_tokens, Some(asked.count(text(&prompt))));
        }
        texts
    };
    assert!(asked_by(0x1234_5678_9abc) > 0);
    assert_eq!(asked_by(0xfedc_ba98_7654), 0);
}

#[test]
fn one_pair_of_neighbours_that_merges_is_enough_to_have_every_prompt_counted() {
    let asked = Asked::new(Some(" about above"));
    let counted = counted_for(&asked, &spec(Distribution::Fixed(64)), 100);
    assert!(counted >= 100, "{counted}");
}

#[test]
fn a_prompt_reads_the_same_whether_it_is_counted_or_not() {
    let merged = " about above";
    let spec = spec(Distribution::Uniform(64, 200));
    let [taken, counted] = [None, Some(merged)].map(|pair| {
        let tokenizer: Arc<dyn Tokenizer> = Asked::new(pair);
        Synthetic::new(&spec, 7, Some(nonce()), Some(tokenizer), false).unwrap()
    });
    for index in 1..200 {
        let prompt = taken.prompt(index, 0);
        if !text(&prompt).contains(merged) {
            assert_eq!(text(&prompt), text(&counted.prompt(index, 0)));
        }
    }
}

/// What makes the difference between writing words and looking at each of them.
#[test]
fn every_word_of_both_languages_is_short_enough_to_be_copied() {
    for language in [Language::En, Language::Zh] {
        let counter = vocabulary::Counter {
            tokenizer: &Tiktoken::cl100k(),
            cache: None,
        };
        let vocabulary = vocabulary::Vocabulary::new(language, counter);
        assert!(vocabulary.longest().is_some(), "{language}");
    }
}
