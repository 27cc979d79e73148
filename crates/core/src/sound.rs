//! Sounds that requests carry: which kind their bytes are, and how long they last.

mod boxes;
mod mp3;
mod ogg;

use std::sync::Arc;

/// The bytes of a sound file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sound {
    pub bytes: Arc<[u8]>,
    pub kind: SoundKind,
    /// Its length in milliseconds; absent where the file does not say it.
    pub millis: Option<u32>,
}

impl Sound {
    /// Absent where the bytes are not of a kind that servers take.
    pub fn new(bytes: impl Into<Arc<[u8]>>) -> Option<Self> {
        let bytes = bytes.into();
        let kind = SoundKind::of(&bytes)?;
        Some(Sound {
            millis: kind.millis(&bytes),
            bytes,
            kind,
        })
    }
}

/// Kinds of sound files, by the names that chat has for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase", const_into_str)]
pub enum SoundKind {
    Wav,
    Flac,
    Mp3,
    Ogg,
    M4a,
    Webm,
}

impl SoundKind {
    /// The kind that the first bytes of a file say.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let at = |place: usize, mark: &[u8]| bytes.get(place..place + mark.len()) == Some(mark);
        // A frame of MPEG audio begins with eleven bits that are set.
        let is_frame = matches!(bytes, [0xff, second, ..] if second & 0xe0 == 0xe0);
        match () {
            () if at(0, b"RIFF") && at(8, b"WAVE") => Some(SoundKind::Wav),
            () if at(0, b"fLaC") => Some(SoundKind::Flac),
            () if at(0, b"OggS") => Some(SoundKind::Ogg),
            () if at(4, b"ftyp") => Some(SoundKind::M4a),
            () if at(0, b"\x1a\x45\xdf\xa3") => Some(SoundKind::Webm),
            () if at(0, b"ID3") || is_frame => Some(SoundKind::Mp3),
            () => None,
        }
    }

    pub fn media_type(self) -> &'static str {
        match self {
            SoundKind::Wav => "audio/wav",
            SoundKind::Flac => "audio/flac",
            SoundKind::Mp3 => "audio/mpeg",
            SoundKind::Ogg => "audio/ogg",
            SoundKind::M4a => "audio/mp4",
            SoundKind::Webm => "audio/webm",
        }
    }

    fn millis(self, bytes: &[u8]) -> Option<u32> {
        match self {
            SoundKind::Wav => wav_millis(bytes),
            SoundKind::Flac => flac_millis(bytes),
            SoundKind::Mp3 => mp3::mp3_millis(bytes),
            SoundKind::Ogg => ogg::ogg_millis(bytes),
            SoundKind::M4a => boxes::m4a_millis(bytes),
            SoundKind::Webm => boxes::webm_millis(bytes),
        }
    }
}

fn millis(amount: u64, per_second: u64) -> Option<u32> {
    let rounded = (u128::from(amount) * 1000 + u128::from(per_second) / 2)
        .checked_div(u128::from(per_second))?;
    u32::try_from(rounded).ok().filter(|&millis| millis > 0)
}

/// Bytes of samples over bytes per second.
fn wav_millis(bytes: &[u8]) -> Option<u32> {
    let number = |at: usize| {
        let four = bytes.get(at..at + 4)?.try_into().ok()?;
        Some(u32::from_le_bytes(four) as usize)
    };
    let (mut at, mut per_second) = (12, None);
    loop {
        let length = number(at + 4)?;
        match bytes.get(at..at + 4)? {
            b"fmt " => per_second = Some(number(at + 16)? as u64),
            // One that was written as a stream states a length that it does not have.
            b"data" => return millis(length.min(bytes.len() - at - 8) as u64, per_second?),
            _ => {}
        }
        // Chunks have an even length.
        at = at.checked_add(8 + length.checked_next_multiple_of(2)?)?;
    }
}

/// Samples over samples per second, from the block that each file begins with.
fn flac_millis(bytes: &[u8]) -> Option<u32> {
    let about: [u8; 8] = bytes.get(18..26)?.try_into().ok()?;
    let about = u64::from_be_bytes(about);
    millis(about & 0xf_ffff_ffff, about >> 44)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn wav(before: &[u8], data_bytes: u32, samples: &[u8]) -> Vec<u8> {
        let mut wav = b"RIFF\0\0\0\0WAVE".to_vec();
        wav.extend_from_slice(before);
        wav.extend_from_slice(b"fmt \x10\0\0\0\x01\0\x01\0");
        for number in [8000_u32, 16_000] {
            wav.extend_from_slice(&number.to_le_bytes());
        }
        wav.extend_from_slice(b"\x02\0\x10\0data");
        wav.extend_from_slice(&data_bytes.to_le_bytes());
        wav.extend_from_slice(samples);
        wav
    }

    #[test]
    fn the_length_of_a_wav_is_that_of_its_samples() {
        let samples = [0; 4000];
        for (bytes, length) in [
            (wav(b"", 4000, &samples), Some(250)),
            (wav(b"LIST\x03\0\0\0abc\0", 4000, &samples), Some(250)),
            (wav(b"", u32::MAX, &samples), Some(250)),
            (wav(b"", 0, &[]), None),
            (wav(b"LIST\xff\xff\xff\xff", 4000, &samples), None),
        ] {
            let sound = Sound::new(bytes).unwrap();
            assert_eq!((sound.kind, sound.millis), (SoundKind::Wav, length));
        }
    }

    #[test]
    fn a_flac_states_its_samples_and_what_says_nothing_has_no_length() {
        let mut flac = b"fLaC\0\0\0\x22".to_vec();
        flac.extend_from_slice(&[0; 10]);
        let about: u64 = (16_000 << 44) | (15 << 36) | 24_000;
        flac.extend_from_slice(&about.to_be_bytes());
        assert_eq!(Sound::new(flac).unwrap().millis, Some(1500));
        for (bytes, kind) in [
            (b"ID3\x04".as_slice(), SoundKind::Mp3),
            (b"\xff\xfb\x90\x00", SoundKind::Mp3),
            (b"OggS\0", SoundKind::Ogg),
            (b"\0\0\0\x20ftypM4A ", SoundKind::M4a),
            (b"\x1a\x45\xdf\xa3", SoundKind::Webm),
        ] {
            let sound = Sound::new(bytes).unwrap();
            assert_eq!((sound.kind, sound.millis), (kind, None));
        }
        for other in [b"\x89PNG".as_slice(), b"RIFF\0\0\0\0WEBP", b"text", b""] {
            assert_eq!(Sound::new(other), None);
        }
    }

    fn recorded(name: &str) -> Vec<u8> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/sound/");
        std::fs::read(format!("{folder}{name}")).unwrap()
    }

    /// Written by FFmpeg's encoders, from a tone of 1.5 s, and of 0.5 s where no frame states a number.
    const RECORDED: [(&str, SoundKind, u32); 5] = [
        ("xing.mp3", SoundKind::Mp3, 1500),
        ("cbr.mp3", SoundKind::Mp3, 500),
        ("opus.ogg", SoundKind::Ogg, 1500),
        ("aac.m4a", SoundKind::M4a, 1500),
        ("opus.webm", SoundKind::Webm, 1500),
    ];

    #[test]
    fn compressed_sounds_last_as_long_as_they_were_made_but_for_their_padding() {
        for (name, kind, made) in RECORDED {
            let sound = Sound::new(recorded(name)).unwrap();
            assert_eq!(sound.kind, kind, "{name}");
            let millis = sound.millis.unwrap();
            // Encoders fill up their first and last frames, of 72 ms at most in these.
            assert!((made..=made + 144).contains(&millis), "{name}: {millis}");
        }
    }

    #[test]
    fn a_compressed_sound_that_is_cut_short_states_no_length_that_it_does_not_have() {
        for (name, _, made) in RECORDED {
            let whole = recorded(name);
            for length in 0..whole.len() {
                let sound = Sound::new(whole[..length].to_vec());
                let millis = sound.and_then(|sound| sound.millis);
                assert!(millis.is_none_or(|it| it <= made + 144), "{name} {length}");
            }
        }
    }

    #[test]
    fn what_surrounds_the_frames_of_an_mp3_is_not_counted_and_what_is_unknown_is_not_guessed() {
        let frames = recorded("cbr.mp3");
        let millis = |bytes: Vec<u8>| Sound::new(bytes).unwrap().millis;
        let plain = millis(frames.clone());
        assert!(plain.is_some());
        let tag = [b"ID3\x04\0\0\0\0\x01\x00".as_slice(), &[0; 128]].concat();
        assert_eq!(millis([tag.as_slice(), &frames].concat()), plain);
        let after = [b"TAG".as_slice(), &[b' '; 125]].concat();
        assert_eq!(millis([frames.as_slice(), &after].concat()), plain);
        assert_eq!(
            millis([frames.as_slice(), b"\x12\x34\x56\x78\x9a"].concat()),
            None
        );
    }

    proptest! {
        #[test]
        fn no_bytes_break_it(head in 0..7_usize, bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            let head = [
                b"RIFF\0\0\0\0WAVEfmt ".as_slice(),
                b"fLaC",
                b"\xff\xfb\x90",
                b"OggS\0\x02",
                b"\0\0\0\x0cftypM4A \0\0\0\x40moov\0\0\0\x30mvhd",
                b"\x1a\x45\xdf\xa3\x80\x18\x53\x80\x67\xff\x15\x49\xa9\x66",
                b"",
            ][head];
            let _ = Sound::new([head, &bytes].concat());
        }
    }
}
