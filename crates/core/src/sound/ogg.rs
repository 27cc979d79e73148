//! The length of an Ogg: by the place in the sound that its last page states.

use super::millis;

/// Samples per second, and those at the beginning that are not heard.
#[derive(Clone, Copy)]
struct Stream {
    rate: u64,
    unheard: u64,
}

impl Stream {
    /// What the first page of a stream says; absent where it is no sound.
    fn of(page: &[u8]) -> Option<Self> {
        let number = |at: usize| {
            let four = page.get(at..at + 4)?.try_into().ok()?;
            Some(u64::from(u32::from_le_bytes(four)))
        };
        let (rate, unheard) = match () {
            () if page.starts_with(b"OpusHead") => (48_000, number(10)? & 0xffff),
            () if page.starts_with(b"\x01vorbis") => (number(12)?, 0),
            () if page.starts_with(b"Speex   ") => (number(36)?, 0),
            // Twenty bits, the other way round, in the block that each FLAC begins with.
            () if page.starts_with(b"\x7fFLAC") => {
                let four = page.get(27..31)?.try_into().ok()?;
                (u64::from(u32::from_be_bytes(four) >> 12), 0)
            }
            () => return None,
        };
        Some(Stream { rate, unheard })
    }
}

/// Of a file with one sound.
pub(super) fn ogg_millis(bytes: &[u8]) -> Option<u32> {
    let mut found: Option<(&[u8], Stream)> = None;
    let (mut rest, mut end) = (bytes, None);
    while let Some(head) = rest.get(..27).filter(|head| head.starts_with(b"OggS")) {
        let lengths = rest.get(27..27 + usize::from(head[26]))?;
        let from = 27 + lengths.len();
        let length: usize = lengths.iter().map(|it| usize::from(*it)).sum();
        let (name, place) = (&head[14..18], &head[6..14]);
        let page = rest.get(from..from + length)?;
        if head[5] & 2 != 0
            && let Some(stream) = Stream::of(page)
            && found.replace((name, stream)).is_some()
        {
            // Several sounds, one after the other or together.
            return None;
        }
        let place = u64::from_le_bytes(place.try_into().ok()?);
        // A page on which nothing ends states no place.
        if found.is_some_and(|(of, _)| of == name) && place != u64::MAX {
            end = Some(place);
        }
        rest = &rest[from + length..];
    }
    let (_, stream) = found.filter(|_| rest.is_empty())?;
    millis(end?.checked_sub(stream.unheard)?, stream.rate)
}
