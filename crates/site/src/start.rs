//! The page that starts a measurement: a form for each command, and the command line that it
//! stands for.

use crate::{READER, both, document, embedded, spans, texts};
use inferometer_message::{SiteText, StartText};
use inferometer_page::html::ControlText;
use inferometer_text::Lang;
use inferometer_text::hostile::escaped;
use serde_json::json;

const SCRIPT: &str = include_str!("start.js");

/// A command that can be started, with its options; texts in English and Chinese.
#[derive(Clone, Debug)]
pub struct Form {
    pub command: String,
    pub about: [String; 2],
    pub options: Vec<FormOption>,
}

#[derive(Clone, Debug)]
pub struct FormOption {
    /// As in `--concurrency`; absent for what needs no name.
    pub name: Option<String>,
    pub topic: [String; 2],
    pub help: [String; 2],
    /// What it takes, as in `N` or `constant|poisson`.
    pub value: String,
    pub is_switch: bool,
    pub is_repeatable: bool,
}

/// Topics that are open from the beginning.
const OPEN: [&str; 2] = ["Connection", "Load"];

pub fn start_page(forms: &[Form], lang: Lang) -> String {
    let choices = forms.iter().map(|form| {
        let name = escaped(&form.command);
        let [en, zh] = form.about.each_ref().map(|it| escaped(it));
        format!(
            "<option value=\"{name}\" data-en=\"{name}: {en}\" data-zh=\"{name}：{zh}\"></option>"
        )
    });
    let body = format!(
        "<p><a href=\"./\">{back}</a></p>\n<h1 id=\"title\">{title}</h1>\n\
         <div class=\"bar\"><select id=\"command\" aria-labelledby=\"title\">{choices}</select>\
         <button id=\"language\" type=\"button\">中文 / English</button>\
         <button id=\"theme\" type=\"button\">{theme}</button></div>\n{forms}\
         <h2>{line}</h2>\n<pre id=\"line\" tabindex=\"0\"></pre>\n\
         <div class=\"bar\"><button id=\"start\" type=\"button\">{start}</button>\
         <button id=\"copy\" type=\"button\">{copy}</button>\
         <span id=\"said\" role=\"status\"></span></div>\n\
         <script type=\"application/json\" id=\"data\">{data}</script>\n\
         <script>{READER}{SCRIPT}</script>\n",
        back = both(SiteText::Back),
        title = both(StartText::Title),
        theme = both(ControlText::Theme),
        choices = choices.collect::<String>(),
        forms = forms.iter().map(form_of).collect::<String>(),
        line = both(StartText::Line),
        start = both(StartText::Start),
        copy = both(StartText::Copy),
        data = embedded(&json!({
            "copied": texts(StartText::Copied),
            "away": texts(StartText::Away),
        })),
    );
    let title = [Lang::En, Lang::Zh].map(|it| StartText::Title.text(it).to_owned());
    document(&title, &body, lang)
}

fn form_of(form: &Form) -> String {
    let mut topics: Vec<&[String; 2]> = Vec::new();
    for option in &form.options {
        if !topics.contains(&&option.topic) {
            topics.push(&option.topic);
        }
    }
    let topic = |topic: &&[String; 2]| {
        let of_topic = form.options.iter().filter(|it| it.topic == **topic);
        let open = if OPEN.contains(&topic[0].as_str()) {
            " open"
        } else {
            ""
        };
        format!(
            "<details{open}><summary>{}</summary><div class=\"fields\">{}</div></details>\n",
            spans(topic),
            of_topic.map(field).collect::<String>()
        )
    };
    format!(
        "<form data-command=\"{}\" hidden>\n{}</form>\n",
        escaped(&form.command),
        topics.iter().map(topic).collect::<String>()
    )
}

fn field(option: &FormOption) -> String {
    let name = option.name.as_deref().unwrap_or_default();
    let title = if name.is_empty() { &option.value } else { name };
    let (flag, title, value) = (escaped(name), escaped(title), escaped(&option.value));
    let help = spans(&option.help);
    let input = if option.is_switch {
        format!("<input type=\"checkbox\" data-name=\"{flag}\">")
    } else if option.is_repeatable || name.is_empty() {
        format!("<textarea rows=\"2\" data-name=\"{flag}\" placeholder=\"{value}\"></textarea>")
    } else {
        format!("<input type=\"text\" data-name=\"{flag}\" placeholder=\"{value}\">")
    };
    format!("<label><b>{title}</b>{input}<span class=\"faint\">{help}</span></label>\n")
}
