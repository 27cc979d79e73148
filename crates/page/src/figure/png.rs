//! PNG of a figure, drawn from its SVG with the embedded font: no font of the system is used.

use super::theme::Theme;
use super::{Figure, font, svg};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::fontdb::{Database, Source};
use resvg::usvg::{Options, Tree};
use std::sync::{Arc, LazyLock};

/// Pixels of the picture for each of the layout.
pub const SCALE: f32 = 2.0;
/// Longest side of a picture in pixels; larger figures are drawn smaller.
const LONGEST: f32 = 16_000.0;

/// Why there is no picture.
#[derive(Debug, thiserror::Error)]
#[error("the figure '{id}' cannot be drawn as PNG ({reason}); write it as SVG")]
pub struct PngError {
    id: String,
    reason: String,
}

static FONTS: LazyLock<Arc<Database>> = LazyLock::new(|| {
    let mut fonts = Database::new();
    fonts.load_font_source(Source::Binary(Arc::new(font::bytes())));
    Arc::new(fonts)
});

/// The figure as a PNG file.
pub fn render(figure: &Figure, theme: Theme) -> Result<Vec<u8>, PngError> {
    let error = |reason: String| PngError {
        id: figure.id.clone(),
        reason,
    };
    let options = Options {
        fontdb: Arc::clone(&FONTS),
        ..Options::default()
    };
    let text = svg::render(figure, theme);
    let tree = Tree::from_str(&text, &options).map_err(|why| error(why.to_string()))?;
    let size = tree.size();
    let scale = SCALE.min(LONGEST / size.width().max(size.height()));
    let side = |length: f32| (length * scale).ceil() as u32;
    let mut picture = Pixmap::new(side(size.width()), side(size.height()))
        .ok_or_else(|| error("it has no size".to_owned()))?;
    let enlarged = Transform::from_scale(scale, scale);
    resvg::render(&tree, enlarged, &mut picture.as_mut());
    picture.encode_png().map_err(|why| error(why.to_string()))
}
