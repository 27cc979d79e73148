//! The embedded font: widths for the layout, outlines for PNG, and which characters it lacks.
//!
//! It is a part of Noto Sans SC Regular (SIL Open Font License 1.1, `assets/OFL.txt`); how it
//! was made is in `assets/make-font`.

use super::{Axis, Figure, Scale, Shape};
use flate2::read::GzDecoder;
use std::collections::BTreeSet;
use std::io::Read;
use std::sync::LazyLock;
use ttf_parser::{Face, GlyphId, OutlineBuilder};

/// Families in order of preference: the embedded one first, then what systems have.
pub const FAMILIES: &str = "'Noto Sans SC','Noto Sans CJK SC','Source Han Sans SC','PingFang SC',\
                            'Microsoft YaHei',system-ui,sans-serif";

static PACKED: &[u8] = include_bytes!("../../assets/noto-sans-sc.ttf.gz");

static UNPACKED: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut bytes = Vec::new();
    GzDecoder::new(PACKED)
        .read_to_end(&mut bytes)
        .expect("the embedded font unpacks, as a test checks");
    bytes
});

static FACE: LazyLock<Face<'static>> =
    LazyLock::new(|| Face::parse(&UNPACKED, 0).expect("the embedded font reads, as a test checks"));

pub(super) fn units_per_em() -> f64 {
    f64::from(FACE.units_per_em())
}

/// Draws a character in the font's units; one that is missing is a box.
pub(super) fn outline(c: char, builder: &mut dyn OutlineBuilder) {
    let glyph = FACE.glyph_index(c);
    if glyph.is_some() || !c.is_whitespace() {
        FACE.outline_glyph(glyph.unwrap_or(GlyphId(0)), builder);
    }
}

/// Whether a character can be drawn; spaces and joiners need no outline.
pub fn draws(c: char) -> bool {
    c.is_whitespace() || FACE.glyph_index(c).is_some()
}

/// Width of a character at size 1; one that is missing takes a whole square.
fn advance(c: char) -> f64 {
    let glyph = FACE.glyph_index(c);
    let width = glyph.and_then(|glyph| FACE.glyph_hor_advance(glyph));
    width.map_or(1.0, |width| f64::from(width) / units_per_em())
}

/// Width of a text in pixels at a size in pixels.
pub fn width(text: &str, size: f64) -> f64 {
    text.chars().map(advance).sum::<f64>() * size
}

/// The text if it fits, else its beginning and more of its end with `…` between: names that are alike
/// mostly differ at their ends.
pub fn fit_ends(text: &str, size: f64, room: f64) -> String {
    if width(text, size) <= room {
        return text.to_owned();
    }
    let signs: Vec<char> = text.chars().collect();
    let room = room - advance('…') * size;
    let fitting = |signs: &mut dyn Iterator<Item = &char>, share: f64| {
        let mut used = 0.0;
        let fits = |sign: &&char| {
            used += advance(**sign) * size;
            used <= share * room
        };
        signs.take_while(fits).count()
    };
    let head = fitting(&mut signs.iter(), 1.0 / 3.0);
    let tail = fitting(&mut signs.iter().rev(), 2.0 / 3.0);
    let [head, tail] = [&signs[..head], &signs[signs.len() - tail..]].map(String::from_iter);
    format!("{}…{}", head.trim_end(), tail.trim_start())
}

/// The text if it fits, else as much of it as does, with `…`.
pub fn fit(text: &str, size: f64, room: f64) -> String {
    let dots = advance('…') * size;
    let mut used = 0.0;
    let mut whole_until = 0;
    for (place, c) in text.char_indices() {
        used += advance(c) * size;
        if used <= room - dots {
            whole_until = place + c.len_utf8();
        }
        if used > room {
            return format!("{}…", text[..whole_until].trim_end());
        }
    }
    text.to_owned()
}

/// The text in lines that fit. Lines break at spaces, and anywhere in Chinese.
pub fn wrap(text: &str, size: f64, room: f64) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0.0;
    for piece in pieces(text) {
        let own = width(piece, size);
        if used + width(piece.trim_end(), size) > room && used > 0.0 {
            lines.push(String::new());
            used = 0.0;
        }
        if let Some(line) = lines.last_mut() {
            line.push_str(&fit(piece, size, room.max(own.min(room))));
        }
        used += own;
    }
    lines
        .iter()
        .map(|line| line.trim_end().to_owned())
        .collect()
}

/// Pieces between which a line may break.
fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut from = 0;
    let mut before = None;
    for (place, c) in text.char_indices() {
        // No line begins with a closing mark.
        let closes = "，。；：、）！？”’".contains(c);
        let breaks = before.is_some_and(|before: char| before == ' ' || is_wide(before))
            || (is_wide(c) && before.is_some());
        if breaks && !closes && c != ' ' {
            pieces.push(&text[from..place]);
            from = place;
        }
        before = Some(c);
    }
    pieces.push(&text[from..]);
    pieces
}

fn is_wide(c: char) -> bool {
    ('\u{2E80}'..='\u{9FFF}').contains(&c) || ('\u{FF00}'..='\u{FFEF}').contains(&c)
}

/// Characters of a figure that the font lacks, for a warning.
pub fn undrawable(figure: &Figure) -> Vec<char> {
    let mut missing = BTreeSet::new();
    for text in texts(figure) {
        missing.extend(text.chars().filter(|&c| !c.is_control() && !draws(c)));
    }
    missing.into_iter().collect()
}

fn texts(figure: &Figure) -> Vec<&str> {
    let mut texts = vec![figure.title.as_str()];
    texts.extend(figure.footnotes.iter().map(String::as_str));
    for panel in &figure.panels {
        texts.extend([panel.title.as_str(), panel.when_empty.as_str()]);
        for axis in [&panel.x, &panel.y] {
            texts.extend(axis_texts(axis));
        }
        texts.extend(panel.marks.iter().map(|mark| mark.label.as_str()));
        texts.extend(panel.shades.iter().map(|shade| shade.label.as_str()));
        for series in &panel.series {
            texts.push(&series.name);
            let samples = series.shape.samples().iter();
            texts.extend(samples.filter_map(|sample| sample.label.as_deref()));
            if let Shape::Heat(cells, _) = &series.shape {
                texts.extend(cells.iter().map(|cell| cell.label.as_str()));
            }
        }
    }
    texts
}

fn axis_texts(axis: &Axis) -> Vec<&str> {
    let mut texts = vec![axis.title.as_str(), axis.unit.as_str()];
    if let Scale::Category(names) = &axis.scale {
        texts.extend(names.iter().map(String::as_str));
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_font_has_every_character_of_the_catalogue() {
        let catalogue = concat!(env!("CARGO_MANIFEST_DIR"), "/../message/src");
        for file in std::fs::read_dir(catalogue).unwrap() {
            let path = file.unwrap().path();
            // Sentences of plans and of setups are never drawn.
            if path.ends_with("plan.rs") || path.ends_with("setup.rs") {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let missing: String = text.chars().filter(|&c| !draws(c)).collect();
            assert_eq!(missing, "", "{}: run assets/make-font", path.display());
        }
    }

    #[test]
    fn the_font_has_the_everyday_hanzi_and_signs_of_the_field() {
        for c in "啊座并发数吞吐量时延首末均值压测昇腾显卡×±≤µ–…×→①Ωλé".chars()
        {
            assert!(draws(c), "{c}");
        }
        assert!(!draws('😀') && !draws('한'));
    }

    #[test]
    fn what_cannot_be_drawn_is_named_once() {
        let figure = Figure {
            title: "模型 😀😀 한".to_owned(),
            ..Figure::default()
        };
        assert_eq!(undrawable(&figure), ['한', '😀']);
    }

    #[test]
    fn widths_are_those_of_the_font() {
        assert!((width("中文", 10.0) - 20.0).abs() < 0.01);
        assert!(width("iiii", 10.0) < width("mmmm", 10.0));
        assert_eq!(width("", 10.0), 0.0);
    }

    #[test]
    fn a_long_text_is_cut_to_fit_and_a_short_one_is_left() {
        assert_eq!(fit("short", 10.0, 100.0), "short");
        let cut = fit(&"long ".repeat(10_000), 10.0, 100.0);
        assert!(cut.ends_with('…') && width(&cut, 10.0) <= 100.0, "{cut}");
        assert_eq!(fit("中文", 10.0, 1.0), "…");
    }

    #[test]
    fn a_name_that_is_cut_keeps_both_its_ends() {
        assert_eq!(fit_ends("short", 10.0, 100.0), "short");
        let cut = fit_ends("vLLM 0.10.1 (L20) / Qwen2.5-7B / trial 13", 10.0, 120.0);
        assert!(
            cut.starts_with("vLLM") && cut.ends_with("trial 13"),
            "{cut}"
        );
        assert!(width(&cut, 10.0) <= 120.0, "{cut}");
    }

    #[test]
    fn lines_fit_in_both_languages() {
        for text in [
            "Points are left out because their runs are INVALID: 128, 256",
            "以下测点因运行无效而未绘出：128、256，数值请见表格。",
        ] {
            let lines = wrap(text, 10.0, 120.0);
            assert!(lines.len() > 1);
            for line in &lines {
                assert!(width(line, 10.0) <= 120.0, "{line}");
            }
            assert_eq!(lines.concat().replace(' ', ""), text.replace(' ', ""));
        }
    }
}
