//! Pages of text: a report without a page of its own, and why there is no other page.

use crate::{READER, both, clean, document, shown, spans};
use inferometer_message::SiteText;
use inferometer_page::html::ControlText;
use inferometer_text::Lang;

/// The page of a result that has none of its own, with the way to the index: why that is, and what
/// is left of it as text, in both languages.
pub fn plain_page(
    name: &str,
    why: &[String; 2],
    report: Option<&[String; 2]>,
    home: &str,
    lang: Lang,
) -> String {
    let name = clean(name);
    let report = report.map(|report| format!("<pre>{}</pre>\n", spans(report)));
    let body = format!(
        "<h1>{}</h1>\n<p class=\"said invalid\">{}</p>\n{}",
        shown(&name),
        spans(why),
        report.unwrap_or_default()
    );
    with_reader(&[name.clone(), name], home, &body, lang)
}

/// A page that says why there is no other, in both languages, with the way to the index.
pub fn said_page(text: &[String; 2], home: &str, lang: Lang) -> String {
    let title = ["Inferometer"; 2].map(str::to_owned);
    with_reader(&title, home, &format!("<p>{}</p>\n", spans(text)), lang)
}

fn with_reader(title: &[String; 2], home: &str, body: &str, lang: Lang) -> String {
    let body = format!(
        "<div class=\"top\"><a href=\"{home}\">{back}</a><span class=\"bar\">\
         <button id=\"language\" type=\"button\">中文 / English</button>\
         <button id=\"theme\" type=\"button\">{theme}</button></span></div>\n{body}\
         <script>{READER}reader();</script>\n",
        back = both(SiteText::Back),
        theme = both(ControlText::Theme),
    );
    document(title, &body, lang)
}
