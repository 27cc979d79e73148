//! What is made for requests beside their text: images, videos, sounds.

mod audio;
mod images;
mod video;

pub use audio::AudioSpec;
pub use images::ImageSpec;
pub use video::VideoSpec;

/// Media that we make for each request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MediaSpec {
    pub images: Option<ImageSpec>,
    pub video: Option<VideoSpec>,
    pub audio: Option<AudioSpec>,
}

impl MediaSpec {
    pub fn is_empty(&self) -> bool {
        self.names().next().is_none()
    }

    /// The options that ask for them.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        let all = [
            ("--images", self.images.is_some()),
            ("--video", self.video.is_some()),
            ("--audio", self.audio.is_some()),
        ];
        all.into_iter()
            .filter_map(|(name, given)| given.then_some(name))
    }
}

/// The fields of a spec, `n=2,size=64x64`: commas also part the arguments of a distribution, and
/// what has no name is the number `n`.
fn fields(text: &str) -> Vec<(&str, &str)> {
    let mut depth = 0;
    let pieces = text.split(move |letter| {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        letter == ',' && depth == 0
    });
    let pieces = pieces.filter(|piece| !piece.trim().is_empty());
    let named = pieces.map(|piece| piece.split_once('=').unwrap_or(("n", piece)));
    named
        .map(|(name, value)| (name.trim(), value.trim()))
        .collect()
}

/// Sizes in pixels, parted by `|`, of sides up to a longest one.
fn sizes(text: &str, longest: u32) -> Option<Vec<(u32, u32)>> {
    let side = |text: &str| {
        let side = text.trim().parse().ok();
        side.filter(|side| (1..=longest).contains(side))
    };
    let size = |text: &str| {
        let (width, height) = text.split_once('x')?;
        side(width).zip(side(height))
    };
    text.split('|').map(size).collect()
}

fn written(sizes: &[(u32, u32)]) -> String {
    let sizes = sizes
        .iter()
        .map(|(width, height)| format!("{width}x{height}"));
    sizes.collect::<Vec<_>>().join("|")
}
