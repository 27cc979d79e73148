//! Makes inputs from seeds: the input of a number is a pure function of the seeds and that number,
//! so that any failure can be repeated.

use std::collections::BTreeSet;
use std::sync::LazyLock;

/// Longest input that is made.
const LONGEST: usize = 64 << 10;
/// Seeds beyond this length are mostly used in parts, since a change in a long one costs as much
/// to parse and says no more.
const LONG_SEED: usize = 4 << 10;
const MOST_WORDS: usize = 4096;

/// Numbers at the limits of what programs count with.
static NUMBERS: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let numbers = "\
        0 -1 1 255 65536 2147483647 2147483648 4294967295 4294967296 9007199254740993 \
        9223372036854775807 -9223372036854775808 18446744073709551615 18446744073709551616 1e18 \
        1e308 1e309 -1e309 1e-400 0.1e-7 NaN inf";
    numbers.split(' ').collect()
});

/// What parsers trip over wherever it stands.
const ODDITIES: [&[u8]; 24] = [
    b"\0",
    b"\xff",
    b"\xc3",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\xef\xbb\xbf",
    b"\\u0000",
    b"\\ud800",
    b"\\udc00\\ud800",
    b"\r",
    b"\r\n",
    b"\n\n",
    b"\t",
    b"\"",
    b"\\",
    b"\x1b[31m",
    "\u{202e}".as_bytes(),
    "\u{3000}".as_bytes(),
    "，".as_bytes(),
    "\u{200d}".as_bytes(),
    b"null",
    b"true",
    b"{}",
    b"[]",
];

/// What opens and closes a level in some format.
const LEVELS: [(&[u8], &[u8]); 10] = [
    (b"[", b"]"),
    (b"{\"a\":", b"}"),
    (b"{", b"}"),
    (b"(", b")"),
    (b"<div>", b"</div>"),
    (b"{{", b"}}"),
    (b"{% if a %}", b"{% endif %}"),
    (b"> ", b""),
    (b"a.", b""),
    (b"\"", b"\""),
];

/// Small, fast and the same everywhere: SplitMix64.
pub struct Random(u64);

impl Random {
    pub fn new(key: u64) -> Self {
        Random(key)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 up to, not including, `end`; 0 if that is 0.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % (end.max(1) as u64)) as usize
    }

    /// Mostly small, now and then up to `end`.
    fn skewed(&mut self, end: usize) -> usize {
        let bits = end.checked_ilog2().unwrap_or(0) as usize + 1;
        let most = 1_usize << self.below(bits + 1);
        self.below(most.min(end))
    }

    fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

pub struct Mutator {
    seeds: Vec<Vec<u8>>,
    /// Words of the seeds.
    words: Vec<Vec<u8>>,
}

impl Mutator {
    /// `seeds` holds at least one.
    pub fn new(seeds: Vec<Vec<u8>>) -> Self {
        let mut words = BTreeSet::new();
        for seed in &seeds {
            let parts = seed.split(|byte| !is_of_word(*byte));
            words.extend(parts.filter(|part| (1..=40).contains(&part.len())));
        }
        let step = words.len().div_ceil(MOST_WORDS).max(1);
        let words = words.into_iter().step_by(step).map(<[u8]>::to_vec);
        let mut words: Vec<Vec<u8>> = words.collect();
        words.extend(NUMBERS.iter().map(|number| number.as_bytes().to_vec()));
        Mutator { seeds, words }
    }

    pub fn input(&self, key: u64) -> Vec<u8> {
        let mut random = Random::new(key);
        let mut bytes = self.seed(&mut random).to_vec();
        let changes = 1 + random.skewed(12);
        for _ in 0..changes {
            self.change(&mut bytes, &mut random);
            bytes.truncate(LONGEST);
        }
        bytes
    }

    /// A seed, or some lines of a long one.
    fn seed(&self, random: &mut Random) -> &[u8] {
        let seed = random.pick(&self.seeds);
        if seed.len() <= LONG_SEED || random.below(16) == 0 {
            return seed;
        }
        let from = match random.below(3) {
            0 => 0,
            _ => line_start(seed, random.below(seed.len())),
        };
        &seed[from..(from + LONG_SEED).min(seed.len())]
    }

    fn change(&self, bytes: &mut Vec<u8>, random: &mut Random) {
        let at = random.below(bytes.len() + 1);
        match random.below(16) {
            0 => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << random.below(8);
                }
            }
            1 => {
                let new = random.below(256) as u8;
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = new;
                }
            }
            2 => {
                let end = at + random.skewed(bytes.len() - at + 1);
                bytes.drain(at..end);
            }
            3 => {
                let end = at + random.skewed(bytes.len() - at + 1);
                let times = random.skewed(LONGEST / (end - at).max(1));
                let part = bytes[at..end].repeat(times.max(1));
                insert(bytes, at, &part);
            }
            4 => insert(bytes, at, random.pick::<Vec<u8>>(&self.words)),
            5 | 6 => {
                let number = number_near(bytes, at);
                bytes.splice(number, random.pick(&NUMBERS).bytes());
            }
            7 => {
                let other = random.pick(&self.seeds);
                let from = random.below(other.len() + 1);
                let length = random.skewed(other.len() - from + 1);
                bytes.truncate(at);
                bytes.extend_from_slice(&other[from..from + length]);
            }
            8 => bytes.truncate(at),
            9 => {
                let (open, close) = random.pick(&LEVELS);
                let deep = random.skewed(20_000);
                let mut nested = open.repeat(deep);
                if random.below(2) == 0 {
                    nested.extend(close.repeat(deep));
                }
                insert(bytes, at, &nested);
            }
            10 => insert(bytes, at, random.pick::<&[u8]>(&ODDITIES)),
            11 | 12 => {
                let word = run_near(bytes, at, is_of_word);
                bytes.splice(word, random.pick(&self.words).iter().copied());
            }
            13 => {
                // A line less, twice, or elsewhere.
                let start = line_start(bytes, at);
                let end = line_end(bytes, at);
                let line = bytes[start..end].to_vec();
                if random.below(3) > 0 {
                    bytes.drain(start..end);
                }
                if random.below(2) == 0 {
                    let to = line_start(bytes, random.below(bytes.len() + 1));
                    insert(bytes, to, &line);
                }
            }
            14 => {
                let noise: Vec<u8> = (0..random.skewed(64))
                    .map(|_| random.below(256) as u8)
                    .collect();
                insert(bytes, at, &noise);
            }
            _ => {
                let long = random.skewed(LONGEST);
                let filler = vec![*random.pick(b"a0 \n\"[-,|:."); long];
                insert(bytes, at, &filler);
            }
        }
    }
}

fn insert(bytes: &mut Vec<u8>, at: usize, new: &[u8]) {
    bytes.splice(at..at, new.iter().copied());
}

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-') || byte >= 0x80
}

/// The run of such bytes that holds `at`, or begins behind it.
fn run_near(bytes: &[u8], at: usize, of: fn(u8) -> bool) -> std::ops::Range<usize> {
    let behind = bytes[at..].iter().position(|byte| of(*byte));
    let Some(inside) = behind.map(|behind| at + behind) else {
        return at..at;
    };
    let before = bytes[..inside].iter().rev().take_while(|byte| of(**byte));
    let after = bytes[inside..].iter().take_while(|byte| of(**byte));
    inside - before.count()..inside + after.count()
}

fn number_near(bytes: &[u8], at: usize) -> std::ops::Range<usize> {
    run_near(bytes, at, |byte| byte.is_ascii_digit() || byte == b'.')
}

fn line_start(bytes: &[u8], at: usize) -> usize {
    let newline = bytes[..at].iter().rposition(|byte| *byte == b'\n');
    newline.map_or(0, |newline| newline + 1)
}

fn line_end(bytes: &[u8], at: usize) -> usize {
    let newline = bytes[at..].iter().position(|byte| *byte == b'\n');
    newline.map_or(bytes.len(), |newline| at + newline + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_depends_on_seeds_and_number_alone_and_is_bounded() {
        let seeds = vec![
            br#"{"a": 1.5, "b": [1, 2]}"#.to_vec(),
            b"one\ntwo 2\n".repeat(900),
        ];
        let (one, other) = (Mutator::new(seeds.clone()), Mutator::new(seeds.clone()));
        let made: Vec<Vec<u8>> = (0..2_000).map(|number| one.input(number)).collect();
        for (number, input) in made.iter().enumerate() {
            assert_eq!(*input, other.input(number as u64));
            assert!(input.len() <= LONGEST);
        }
        let different: BTreeSet<&Vec<u8>> = made.iter().collect();
        assert!(
            different.len() > 1_700,
            "{} different of 2000",
            different.len()
        );
    }
}
