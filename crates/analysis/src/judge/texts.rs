//! What doubts say, and their remedies. Sentences differ too much between languages for
//! templates, so each language is a file of its own.

mod chinese;
mod english;
#[cfg(test)]
mod tests;

use crate::judge::Doubt;
use inferometer_text::Lang;

/// What was seen, and what to do about it.
pub fn words(doubt: &Doubt, lang: Lang) -> (String, String) {
    match lang {
        Lang::En => (english::text(doubt), english::remedy(doubt)),
        Lang::Zh => (chinese::text(doubt), chinese::remedy(doubt)),
    }
}

/// A share as a percentage.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent >= 10.0 {
        format!("{percent:.0} %")
    } else {
        format!("{percent:.1} %")
    }
}

fn share(part: u64, whole: u64) -> String {
    percent(part as f64 / whole.max(1) as f64)
}

fn millis(ms: f64) -> String {
    match ms {
        ms if ms >= 100.0 => format!("{ms:.0} ms"),
        ms if ms >= 10.0 => format!("{ms:.1} ms"),
        ms => format!("{ms:.2} ms"),
    }
}
