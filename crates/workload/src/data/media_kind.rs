//! What a file beside a text is.

use inferometer_core::sound::SoundKind;
use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediaKind {
    Image,
    Video,
    Sound,
}

impl MediaKind {
    /// Kinds whose parts name them by a URL, which may hold them.
    pub const BY_URL: [MediaKind; 2] = [MediaKind::Image, MediaKind::Video];

    /// Columns that hold them: a path, a URL or base64, or a list of them.
    pub fn columns(self) -> &'static [&'static str] {
        match self {
            MediaKind::Image => &[
                "image",
                "images",
                "image_url",
                "image_path",
                "image_urls",
                "image_files",
            ],
            MediaKind::Video => &[
                "video",
                "videos",
                "video_url",
                "video_path",
                "video_urls",
                "video_files",
            ],
            MediaKind::Sound => &[
                "audio",
                "audios",
                "audio_path",
                "audio_filepath",
                "audio_file",
                "audio_url",
                "audio_urls",
            ],
        }
    }

    /// The type of a part that names one, and the field with the URL.
    pub fn part(self) -> &'static str {
        match self {
            MediaKind::Image => "image_url",
            MediaKind::Video => "video_url",
            MediaKind::Sound => "audio_url",
        }
    }

    /// What the first bytes of a file say that it is; absent where servers take no such file.
    pub fn media_type(self, head: &[u8]) -> Option<&'static str> {
        let at = |place: usize, mark: &[u8]| head.get(place..place + mark.len()) == Some(mark);
        match self {
            MediaKind::Image => match () {
                () if at(0, b"\x89PNG") => Some("image/png"),
                () if at(0, b"\xff\xd8\xff") => Some("image/jpeg"),
                () if at(0, b"GIF8") => Some("image/gif"),
                () if at(0, b"RIFF") && at(8, b"WEBP") => Some("image/webp"),
                () => None,
            },
            MediaKind::Video => match () {
                () if at(4, b"ftypqt") => Some("video/quicktime"),
                () if at(4, b"ftyp") => Some("video/mp4"),
                // Matroska begins alike; those who decode it look themselves.
                () if at(0, b"\x1a\x45\xdf\xa3") => Some("video/webm"),
                () if at(0, b"RIFF") && at(8, b"AVI ") => Some("video/x-msvideo"),
                () => None,
            },
            MediaKind::Sound => SoundKind::of(head).map(SoundKind::media_type),
        }
    }

    /// The kinds of files that there are.
    pub fn types(self) -> &'static str {
        match self {
            MediaKind::Image => "a PNG, JPEG, GIF or WebP image",
            MediaKind::Video => "an MP4, QuickTime, WebM, Matroska or AVI video",
            MediaKind::Sound => "a WAV, FLAC, MP3, Ogg, M4A or WebM sound",
        }
    }
}

impl fmt::Display for MediaKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            MediaKind::Image => "image",
            MediaKind::Video => "video",
            MediaKind::Sound => "sound",
        })
    }
}
