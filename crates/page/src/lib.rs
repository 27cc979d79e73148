//! Documents and figures: a [`doc::Doc`] is rendered as text, Markdown or HTML, a
//! [`figure::Figure`] is drawn as SVG or PNG. Nothing here knows what they are about.

pub mod checks;
pub mod doc;
pub mod figure;
pub mod html;
pub mod markdown;
pub mod number;
pub mod text;
