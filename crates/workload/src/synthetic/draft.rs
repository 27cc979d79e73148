//! A text while it is made: pieces at its end can be taken back.

/// A piece of text and what it adds to a text's tokens where it usually stands.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) text: Box<str>,
    pub(super) tokens: u32,
}

/// A short piece as it is copied without a call: all of its bytes, of which those behind the text
/// are written over by the next one. A whole vocabulary of them stays near the processor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot([u8; SLOT]);

/// The text, and its length and its tokens in half a byte each: no English word here is longer.
const SLOT: usize = 16;
const SLOT_TEXT: usize = SLOT - 1;
const MOST_TOKENS: u32 = 15;

impl Slot {
    /// One without text of a piece that is too long.
    pub(super) fn of(piece: &Piece) -> Self {
        let mut slot = [0; SLOT];
        let text = piece.text.as_bytes();
        if piece.tokens <= MOST_TOKENS && text.len() <= SLOT_TEXT {
            slot[..text.len()].copy_from_slice(text);
            slot[SLOT_TEXT] = (piece.tokens as u8) << 4 | text.len() as u8;
        }
        Slot(slot)
    }

    fn bytes(&self) -> &[u8; SLOT] {
        &self.0
    }

    pub(super) fn length(&self) -> usize {
        usize::from(self.0[SLOT_TEXT] & 0xf)
    }

    pub(super) fn tokens(&self) -> u32 {
        u32::from(self.0[SLOT_TEXT] >> 4)
    }
}

/// Room at the end of a text whose place and length stay in registers while slots are written.
pub(super) struct Page<'a> {
    bytes: &'a mut [u8],
    length: usize,
}

impl Page<'_> {
    /// One that is not wanted is written over: no processor foresees which ones are.
    pub(super) fn write(&mut self, slot: &Slot, wanted: bool) {
        self.bytes[self.length..self.length + SLOT].copy_from_slice(slot.bytes());
        self.length += if wanted { slot.length() } else { 0 };
    }
}

/// A text and where its pieces begin.
#[derive(Clone, Debug, Default)]
pub(super) struct Draft {
    /// Of whole pieces, so always UTF-8.
    text: Vec<u8>,
    /// Begin in the text and tokens of each piece.
    pieces: Vec<(usize, u32)>,
    /// Nothing will be taken back, so that nobody asks where pieces begin.
    has_no_pieces: bool,
}

impl Draft {
    /// Begins anew in the same memory, with room for `tokens` tokens.
    pub(super) fn with_room(mut self, tokens: u32) -> Self {
        /// Of a usual piece, in bytes.
        const LENGTH: usize = 7;
        // A wish for more than this grows as it is fulfilled.
        let tokens = tokens.min(1 << 20) as usize;
        self.text.clear();
        self.text.reserve(tokens * LENGTH);
        self.pieces.clear();
        self.has_no_pieces = false;
        self
    }

    /// The same for a text of which nothing will be taken back.
    pub(super) fn without_pieces(mut self) -> Self {
        self.has_no_pieces = true;
        self
    }

    pub(super) fn has_no_pieces(&self) -> bool {
        self.has_no_pieces
    }

    pub(super) fn text(&self) -> &str {
        std::str::from_utf8(&self.text).expect("pieces are whole")
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// What its pieces are thought to have together.
    pub(super) fn tokens(&self) -> u32 {
        let tokens = self.pieces.iter().map(|&(_, tokens)| tokens);
        tokens.fold(0, u32::saturating_add)
    }

    pub(super) fn push(&mut self, piece: &Piece) {
        self.push_text(&piece.text, piece.tokens);
    }

    pub(super) fn push_slot(&mut self, slot: &Slot) {
        let begin = self.text.len();
        if !self.has_no_pieces {
            self.pieces.push((begin, slot.tokens()));
        }
        self.text.extend_from_slice(slot.bytes());
        self.text.truncate(begin + slot.length());
    }

    /// Adds slots, at most so many; only where nothing will be taken back.
    pub(super) fn push_slots(&mut self, most: usize, write: impl FnOnce(&mut Page<'_>)) {
        debug_assert!(self.has_no_pieces);
        let begin = self.text.len();
        self.text.resize(begin + most * SLOT, 0);
        let bytes = &mut self.text[begin..];
        let mut page = Page { bytes, length: 0 };
        write(&mut page);
        let length = page.length;
        self.text.truncate(begin + length);
    }

    pub(super) fn push_text(&mut self, text: &str, tokens: u32) {
        if !self.has_no_pieces {
            self.pieces.push((self.text.len(), tokens));
        }
        self.text.extend_from_slice(text.as_bytes());
    }

    /// Takes the last piece back and says how many tokens it was thought to have.
    pub(super) fn pop(&mut self) -> Option<u32> {
        let (begin, tokens) = self.pieces.pop()?;
        self.text.truncate(begin);
        Some(tokens)
    }

    /// Takes the last piece back if it is this one.
    pub(super) fn pop_if(&mut self, piece: &Piece) -> bool {
        let last = self.pieces.last().map(|&(begin, _)| &self.text[begin..]);
        last == Some(piece.text.as_bytes()) && self.pop().is_some()
    }

    pub(super) fn append(&mut self, other: Draft) {
        let length = self.text.len();
        self.text.extend_from_slice(&other.text);
        let moved = |(begin, tokens)| (begin + length, tokens);
        self.pieces.extend(other.pieces.into_iter().map(moved));
    }
}
