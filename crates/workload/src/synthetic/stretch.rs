//! Text is made of stretches: a shared beginning, a block of a trace, the rest of a prompt.

/// Words from one source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    pub(super) source: Source,
    pub(super) tokens: u32,
}

impl Stretch {
    /// Tokens of a text's first stretch that the nonce may take. Where other stretches follow,
    /// this one is shared by some prompts and not by others, so that something must remain of
    /// its own.
    pub(super) fn room_for_nonce(self, is_only: bool) -> u32 {
        const OWN: u32 = 2;
        self.tokens.saturating_sub(if is_only { 0 } else { OWN })
    }
}

pub(super) fn total(stretches: &[Stretch]) -> u32 {
    let tokens = stretches.iter().map(|stretch| stretch.tokens);
    tokens.fold(0, u32::saturating_add)
}

/// What decides the words of a stretch, beside the seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Prompt(u64),
    /// Session and turn, for turns after the first.
    Turn(u64, u32),
    /// A group of prompts that begin with the same words.
    Group(u32),
    /// A block of a trace.
    Block(u64),
}

impl Source {
    /// Index of its randomness. Prompts have their own number, as they always had; the others
    /// are scattered among all numbers, where they practically never meet.
    pub(super) fn index(self) -> u64 {
        match self {
            Source::Prompt(index) => index,
            Source::Turn(session, turn) => scattered(scattered(session, 1), u64::from(turn)),
            Source::Group(group) => scattered(u64::from(group), 2),
            Source::Block(id) => scattered(id, 3),
        }
    }
}

/// A number in which every bit of both depends on every other.
fn scattered(number: u64, kind: u64) -> u64 {
    let mut bits = number
        .wrapping_add((kind + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
        .rotate_left(23);
    for odd in [0xbf58_476d_1ce4_e5b9_u64, 0x94d0_49bb_1331_11eb] {
        bits = (bits ^ (bits >> 29)).wrapping_mul(odd);
    }
    bits ^ (bits >> 32)
}
