//! The page `report.html`: one file that opens without a network, with both languages and
//! charts to touch.
//!
//! Texts of servers and users are escaped wherever they go: markup, attributes, the JSON inside
//! the page, and the names in charts (by the page's own script). A policy in its head forbids
//! the page to load or to send anything.

mod chart;
mod element;
mod escape;
mod glossary;
mod headline;
mod packed;
mod texts;

use crate::doc::{Block, Doc, Section};
use crate::figure::Figure;
use element::both;
use escape::escaped;
pub use glossary::Glossary;
pub use headline::Headline;
use inferometer_text::Lang;
use serde_json::{Value, json};
use std::ops::Range;
pub use texts::ControlText;

#[derive(Clone, Debug)]
pub struct Page {
    /// The language that it opens in.
    pub lang: Lang,
    /// The same report in English and in Chinese, made of the same data.
    pub editions: [Edition; 2],
    pub numbers: Value,
}

/// A report in one language.
#[derive(Clone, Debug)]
pub struct Edition {
    pub lang: Lang,
    pub title: String,
    /// The numbers that are looked at first.
    pub headlines: Vec<Headline>,
    pub doc: Doc,
    /// Sections that stand above the figures, beside those that judge.
    pub above: usize,
    /// What the names in it mean.
    pub glossary: Glossary,
    pub figures: Vec<Figure>,
}

/// A page, given how an edition is made.
pub fn page(lang: Lang, numbers: Value, edition: impl Fn(Lang) -> Edition) -> Page {
    Page {
        lang,
        editions: [Lang::En, Lang::Zh].map(|lang| {
            let mut edition = edition(lang);
            edition.figures = (edition.figures.into_iter())
                .filter_map(Figure::worth_showing)
                .collect();
            edition
        }),
        numbers,
    }
}

const STYLE: &str = include_str!("html/page.css");
const SCRIPT: &str = include_str!("html/page.js");
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; \
                      script-src 'unsafe-inline'; img-src data: blob:; font-src data:";

pub fn render(page: &Page) -> String {
    let library = packed::library();
    let mut out = skeleton(page);
    let charts = chart::json(&page.editions);
    out.push_str(&embedded("charts", &charts));
    out.push_str(&packed::numbers(&page.numbers));
    out.push_str(&format!(
        "<script type=\"application/octet-stream\" id=\"library\">{library}</script>\n\
         <script>{SCRIPT}</script>\n</body>\n</html>\n"
    ));
    out
}

/// The same page, but it opens in the reader's language where that is one of its own: for a page
/// whose language nobody chose.
pub fn following_browser(page: &str) -> String {
    page.replacen("<html ", "<html data-follow ", 1)
}

/// The same page with a way back to the list that it belongs to, named in English and Chinese.
pub fn listed_at(page: &str, list: &str, names: [&str; 2]) -> String {
    let link = format!(
        "<header><a class=\"list\" href=\"{}\">← {}</a>",
        escaped(list),
        both("span", &names.map(escaped))
    );
    page.replacen("<header>", &link, 1)
}

/// Everything that is read, without what draws it.
fn skeleton(page: &Page) -> String {
    let first = &page.editions[match page.lang {
        Lang::En => 0,
        Lang::Zh => 1,
    }];
    let lang = page.lang.into_str();
    let parts = page.editions.each_ref().map(Parts::of);
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"{lang}\" data-lang=\"{lang}\">\n<head>\n\
         <meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n",
        escaped(&first.title)
    );
    let titles = page.editions.each_ref().map(|it| escaped(&it.title));
    out.push_str(&format!(
        "<header><h1>{}</h1><nav><button id=\"language\" type=\"button\">{}</button>\
         <button id=\"theme\" type=\"button\">{}</button></nav></header>\n<main>\n",
        both("span", &titles),
        both("span", &["中文".to_owned(), "English".to_owned()]),
        both("span", &words(ControlText::Theme)),
    ));
    out.push_str(&both("div", &parts.each_ref().map(|it| it.lead.clone())));
    out.push_str(&both("div", &parts.each_ref().map(|it| it.tiles.clone())));
    let [first, _] = &parts;
    let above = first.above.min(first.sections.len());
    out.push_str(&sections(&parts, 0..above));
    let common = figures(&page.editions, None);
    let [first_edition, _] = &page.editions;
    let mut help = chart_help(&first_edition.figures);
    if !common.is_empty() {
        out.push_str(&(common + &std::mem::take(&mut help)));
    }
    // A figure of a section stands below it.
    let mut start = above;
    for (at, part) in first.sections.iter().enumerate().skip(above) {
        let own = part.heading.as_deref();
        let own = own.map_or_else(String::new, |own| figures(&page.editions, Some(own)));
        if !own.is_empty() {
            out.push_str(&sections(&parts, start..at + 1));
            out.push_str(&(own + &std::mem::take(&mut help)));
            start = at + 1;
        }
    }
    out.push_str(&sections(&parts, start..first.sections.len()));
    out.push_str(&raw_numbers());
    out.push_str("</main>\n");
    out
}

/// The words of a text in both languages, escaped.
fn words(text: ControlText) -> [String; 2] {
    [Lang::En, Lang::Zh].map(|lang| escaped(text.text(lang)))
}

/// One language's part of the page, in the page's order: the judgement and what speaks
/// against the numbers, the first numbers, and the sections, some of them above the figures.
struct Parts {
    lead: String,
    tiles: String,
    sections: Vec<SectionPart>,
    above: usize,
}

struct SectionPart {
    heading: Option<String>,
    html: String,
}

/// Some sections in both languages.
fn sections(parts: &[Parts; 2], range: Range<usize>) -> String {
    let of = |part: &Parts| -> String {
        let sections = part.sections.get(range.clone()).unwrap_or_default();
        sections.iter().map(|it| it.html.as_str()).collect()
    };
    both("div", &parts.each_ref().map(of))
}

impl Parts {
    fn of(edition: &Edition) -> Self {
        let glossary = edition.glossary.clone().with_definitions_of(&edition.doc);
        let leads = |section: &&Section| {
            let speaks = |block: &Block| matches!(block, Block::Verdict(_) | Block::Notes(_));
            section.blocks.iter().any(speaks)
        };
        let (lead, rest): (Vec<&Section>, Vec<&Section>) =
            edition.doc.sections.iter().partition(leads);
        let html = |section: &Section| -> String {
            // What the page is called need not be said twice.
            let heading = section.heading.as_deref();
            let heading = heading.filter(|heading| *heading != edition.title);
            element::section(heading, &section.blocks, &glossary, edition.lang)
        };
        let part = |section: &Section| SectionPart {
            heading: section.heading.clone(),
            html: html(section),
        };
        Parts {
            lead: lead.into_iter().map(html).collect(),
            tiles: headline::html(&edition.headlines, &glossary),
            sections: rest.into_iter().map(part).collect(),
            above: edition.above,
        }
    }
}

/// Places for the charts that stand below a section, by its English heading, or of those with no
/// such place; the page's script draws in them.
fn figures(editions: &[Edition; 2], section: Option<&str>) -> String {
    let [en, zh] = editions;
    let glossaries = [en, zh].map(|it| it.glossary.clone().with_definitions_of(&it.doc));
    let mut out = String::new();
    let pairs = en.figures.iter().zip(&zh.figures).enumerate();
    for (number, pair) in pairs.filter(|(_, (en, _))| en.section.as_deref() == section) {
        let of = |text: fn(&Figure) -> String| [text(pair.0), text(pair.1)];
        // Below its own section it needs no name, but for those who hear it or take it along.
        let unseen = match section {
            Some(_) => " class=\"unseen\"",
            None => "",
        };
        out.push_str(&format!(
            "<section class=\"figure\" id=\"{}\">\n<h2{unseen}>{}</h2>\n<div class=\"panels {}\">\n",
            escaped(&pair.0.id),
            both("span", &of(|figure| escaped(&figure.title))),
            match pair.0.arrangement {
                crate::figure::Arrangement::Grid => "grid",
                crate::figure::Arrangement::Stack => "stack",
            },
        ));
        for (place, panels) in pair.0.panels.iter().zip(&pair.1.panels).enumerate() {
            let panels = [panels.0, panels.1];
            let titles = [0, 1].map(|at| {
                let panel = panels[at];
                let unit = if panel.y.title.is_empty() && !panel.y.unit.is_empty() {
                    format!(" ({})", panel.y.unit)
                } else {
                    String::new()
                };
                glossaries[at].explained(&format!("{}{unit}", panel.title))
            });
            out.push_str("<div class=\"panel\">");
            if !panels[0].title.is_empty() {
                out.push_str(&format!("<h3>{}</h3>", both("span", &titles)));
            }
            out.push_str(&if panels[0].is_empty() {
                let why = panels.map(|panel| escaped(&panel.when_empty));
                format!("<p class=\"empty\">{}</p>", both("span", &why))
            } else {
                format!(
                    "<div class=\"plot\" data-figure=\"{number}\" data-panel=\"{place}\"></div>"
                )
            });
            out.push_str("</div>\n");
        }
        out.push_str("</div>\n");
        let notes = of(|figure| {
            let lines = figure.footnotes.iter().map(|note| escaped(note));
            lines.collect::<Vec<_>>().join("<br>")
        });
        if !notes[0].is_empty() {
            out.push_str(&format!("<p class=\"note\">{}</p>\n", both("span", &notes)));
        }
        out.push_str("</section>\n");
    }
    out
}

/// How charts are used, and what it means that there are none.
fn chart_help(figures: &[Figure]) -> String {
    let mut series = figures
        .iter()
        .flat_map(|figure| figure.panels.iter().flat_map(|panel| &panel.series));
    let how = if series.any(|series| !series.name.is_empty()) {
        ControlText::ChartHelpLegend
    } else {
        ControlText::ChartHelp
    };
    format!(
        "<p class=\"note help\">{}</p>\n<p class=\"note\" id=\"no-charts\" hidden>{}</p>\n\
         <noscript><p class=\"note\">{}</p></noscript>\n",
        both("span", &words(how)),
        both("span", &words(ControlText::NoCharts)),
        both("span", &words(ControlText::NoScript)),
    )
}

fn raw_numbers() -> String {
    format!(
        "<section><h2>{}</h2>\n<p>{}</p>\n<p><button id=\"download\" type=\"button\">{}</button></p>\
         </section>\n",
        both("span", &words(ControlText::RawNumbers)),
        both("span", &words(ControlText::RawNumbersAre)),
        both("span", &words(ControlText::Download)),
    )
}

/// JSON inside the page, where nothing in it can end its element.
fn embedded(id: &str, value: &Value) -> String {
    let text = value.to_string();
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                safe.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => safe.push(c),
        }
    }
    format!("<script type=\"application/json\" id=\"{id}\">{safe}</script>\n")
}

fn script_words() -> Value {
    let pair = |text: ControlText| json!({"en": text.text(Lang::En), "zh": text.text(Lang::Zh)});
    json!({
        "copied": pair(ControlText::Copied),
        "png": pair(ControlText::TakePng),
        "csv": pair(ControlText::TakeCsv),
    })
}

#[cfg(test)]
mod tests;
