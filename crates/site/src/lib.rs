//! Pages: those of every kind of result, and the index of many, with search, filters, and a
//! comparison that the browser makes from embedded figures. No script but our own, nothing from
//! elsewhere.
//!
//! Names, labels and tags are hostile: in markup they are escaped, in the embedded JSON nothing
//! can end the script element, and the script writes text, never markup.

mod live;
mod metrics;
pub mod pages;
mod plain;
mod start;

pub use live::{MayEnd, live_page};
pub use metrics::{Counted, View, open_metrics};
pub use plain::{plain_page, said_page};
pub use start::{Form, FormOption, start_page};

use inferometer_chart::metric_name::{MetricUnit, metric_name, unit_of};
use inferometer_compare::Metric;
use inferometer_message::{NumbersText, RunsText, SiteText, StartText};
use inferometer_page::html::ControlText;
use inferometer_page::number;
use inferometer_report::runs::{KnownResult, Listed, RunState};
use inferometer_text::hostile::{escaped, printable};
use inferometer_text::{Lang, Text};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use strum::VariantArray as _;

const STYLE: &str = include_str!("site.css");
/// What the scripts of all pages begin with.
const READER: &str = include_str!("reader.js");
const SCRIPT: &str = include_str!("site.js");

/// Rows that are in sight at once, until more are asked for.
const FIRST_ROWS: usize = 200;

/// Longest name, label or tag that is shown.
const MOST_CHARS: usize = 200;

#[derive(Clone, Debug)]
pub struct Entry {
    /// Its page, as a path from the index; [`page_name`] makes one.
    pub page: String,
    pub result: KnownResult,
}

/// A file name for a result: letters, digits and `._-` only, and none twice.
pub fn page_name(name: &str, taken: &mut HashSet<String>) -> String {
    let plain = |c: char| match c {
        c if c.is_ascii_alphanumeric() || "._-".contains(c) => c,
        _ => '-',
    };
    let stem: String = name.chars().take(100).map(plain).collect();
    let stem = match stem.trim_matches('.') {
        "" => "result",
        stem => stem,
    };
    let others = (2..).map(|number| format!("{stem}-{number}.html"));
    let mut names = std::iter::once(format!("{stem}.html")).chain(others);
    names
        .find(|name| taken.insert(name.to_lowercase()))
        .expect("numbers do not end")
}

/// Where pages are kept: files of their own, or made by a server that also compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hosting {
    Files,
    Server,
    /// A server that also starts measurements.
    Starter,
}

/// The index, opened in one language and switched in the browser.
pub fn index(entries: &[Entry], hosting: Hosting, lang: Lang) -> String {
    let results = || entries.iter().map(|entry| &entry.result);
    let filters = [
        filter("model", SiteText::AllModels, results().flat_map(models)),
        filter("engine", SiteText::AllEngines, results().flat_map(engines)),
        filter("tag", SiteText::AllTags, results().flat_map(tags)),
    ]
    .concat();
    let day = |id: &str, name: SiteText| {
        format!(
            "<label class=\"faint\">{} <input type=\"date\" id=\"{id}\"></label>",
            both(name)
        )
    };
    let days = day("from", SiteText::FromDay) + &day("until", SiteText::UntilDay);
    let kinds: String = [
        RunsText::Run,
        RunsText::Sweep,
        RunsText::Capacity,
        RunsText::Study,
        RunsText::Import,
        RunsText::Comparison,
    ]
    .map(|kind| option(kind, kind.text(Lang::En)))
    .concat();
    let states = entries.iter().map(|entry| entry.result.state);
    let verdicts: BTreeMap<&str, String> = states
        .map(|state| (state.into(), option(state.text(), state.into())))
        .collect();
    let verdicts: String = verdicts.into_values().collect();
    // What is looked for first stands first; tags are the first to go where there is little room.
    let heads: String = [
        ("choose", both(SiteText::Choose)),
        ("", both(RunsText::RunName)),
        ("aside", both(RunsText::Kind)),
        ("", both(RunsText::Verdict)),
        ("number", both(SiteText::Load)),
        ("number", "req/s".to_owned()),
        ("number", "tok/s".to_owned()),
        ("number", both(NumbersText::TtftMedian)),
        ("when", both(RunsText::When)),
        ("aside", both(SiteText::Tags)),
    ]
    .map(|(class, head)| format!("<th class=\"{class}\">{head}</th>"))
    .concat();
    let rows = entries.iter().enumerate();
    let mut rows = rows.map(|(at, entry)| row(at, entry, hosting));
    let first: String = rows.by_ref().take(FIRST_ROWS).collect();
    let rest: String = rows.collect();
    let rows = match entries {
        [] => format!(
            "<tr><td colspan=\"10\" class=\"faint\">{}</td></tr>\n",
            both(SiteText::NoResults)
        ),
        // The browser lays out what is in sight; the rest waits for its turn.
        _ => format!("{first}<template id=\"rest\">{rest}</template>"),
    };
    let body = format!(
        "<div class=\"top\"><h1>{title}</h1>{links}</div>\n\
         <div class=\"bar\"><input type=\"search\" id=\"search\" {search}>\
         <select id=\"kind\">{all_kinds}{kinds}</select>\
         <select id=\"verdict\">{all_verdicts}{verdicts}</select>\
         {filters}{days}\
         <span class=\"faint\" id=\"shown\"></span>\
         <button id=\"language\" type=\"button\">中文 / English</button>\
         <button id=\"theme\" type=\"button\">{theme}</button></div>\n\
         <div class=\"scroll\"><table class=\"results\"><thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n\
         <p><button id=\"more\" type=\"button\" hidden></button></p>\n\
         <h2>{comparison}</h2>\n<p class=\"faint\" id=\"choose-two\">{choose}</p>\n\
         <p class=\"invalid\" id=\"unlike\" hidden>{unlike}</p>\n\
         <div class=\"scroll\"><table id=\"ratios\"></table></div>\n\
         <p class=\"faint\" id=\"not-a-test\" hidden>{not_a_test}</p>\n{test}\
         <script type=\"application/json\" id=\"data\">{data}</script>\n\
         <script>{READER}{SCRIPT}</script>\n",
        title = both(SiteText::Title),
        theme = both(ControlText::Theme),
        search = attributes(SiteText::Search),
        all_kinds = option(SiteText::AllKinds, ""),
        all_verdicts = option(SiteText::AllVerdicts, ""),
        comparison = both(SiteText::Comparison),
        choose = both(SiteText::ChooseTwo),
        not_a_test = both(SiteText::NotATest),
        unlike = both(SiteText::Unlike),
        data = embedded(&data(entries)),
        links = links(hosting),
        test = match hosting {
            Hosting::Files => String::new(),
            Hosting::Server | Hosting::Starter => format!(
                "<p id=\"test\" hidden><a href=\"compare\">{}</a></p>\n",
                both(SiteText::FullComparison),
            ),
        },
    );
    let title =
        [Lang::En, Lang::Zh].map(|it| format!("{} · Inferometer", SiteText::Title.text(it)));
    document(&title, &body, lang)
}

/// A choice among what the results have; none where there is nothing to choose.
fn filter(id: &str, all: SiteText, found: impl Iterator<Item = String>) -> String {
    let found: BTreeSet<String> = found.collect();
    let choices: String = (found.iter())
        .map(|one| format!("<option>{}</option>", escaped(one)))
        .collect();
    let hidden = if found.is_empty() { " hidden" } else { "" };
    format!(
        "<select id=\"{id}\"{hidden}>{all}{choices}</select>",
        all = option(all, ""),
    )
}

/// Ways to the other pages of a server.
fn links(hosting: Hosting) -> String {
    let link = |page: &str, name: String| format!("<a href=\"{page}\">{name}</a>");
    let history = || link("history", both(SiteText::HistoryLink));
    let links = match hosting {
        Hosting::Files => return String::new(),
        Hosting::Server => history(),
        Hosting::Starter => link("new", both(StartText::Title)) + &history(),
    };
    format!("<nav>{links}</nav>")
}

/// A page, called in both languages as one of them is shown.
fn document(title: &[String; 2], body: &str, lang: Lang) -> String {
    let [en, zh] = title.each_ref().map(|it| escaped(it));
    let html_lang = match lang {
        Lang::En => "en",
        Lang::Zh => "zh-CN",
    };
    format!(
        "<!DOCTYPE html>\n<html lang=\"{html_lang}\" data-lang=\"{lang}\">\n<head>\n\
         <meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'\">\n\
         <title data-en=\"{en}\" data-zh=\"{zh}\">{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{body}</body>\n</html>\n",
        title = match lang {
            Lang::En => &en,
            Lang::Zh => &zh,
        },
    )
}

fn row(at: usize, Entry { page, result }: &Entry, hosting: Hosting) -> String {
    let tags: String = tags(result)
        .iter()
        .map(|tag| format!("<span class=\"tag\">{}</span>", escaped(tag)))
        .collect();
    let class: &str = result.state.into();
    let [requests, tokens] =
        (result.rates()).map(|rate| rate.map_or_else(String::new, number::brief));
    let load = [Lang::En, Lang::Zh].map(|lang| result.what.load(lang));
    // What has no figures can be compared with nothing; those of an import are known to a server.
    let is_import = matches!(result.what, Listed::Import { .. });
    let chosen = if result.figures.is_some() || (is_import && hosting != Hosting::Files) {
        format!(
            "<input type=\"checkbox\" aria-label=\"{}\">",
            shown(&result.name)
        )
    } else {
        String::new()
    };
    let computed = if result.computed {
        format!(
            " <span class=\"tag faint\">{}</span>",
            both(SiteText::Computed)
        )
    } else {
        String::new()
    };
    let flaws = match [Lang::En, Lang::Zh].map(|lang| result.flaws(lang).join(" · ")) {
        [en, _] if en.is_empty() => String::new(),
        flaws => format!("<div class=\"flaws\">{}</div>", spans(&flaws)),
    };
    let label = (result.label.as_deref())
        .filter(|label| !label.is_empty() && **label != result.name)
        .map(|label| format!("<div class=\"faint\">{}</div>", shown(label)));
    format!(
        "<tr data-at=\"{at}\"><td class=\"choose\">{chosen}</td>\
         <td class=\"name\"><a href=\"{page}\">{name}</a>{label}</td><td class=\"aside\">{kind}</td>\
         <td class=\"state {class}\">{state}{computed}{flaws}</td><td class=\"number load\">{load}</td>\
         <td class=\"number rate\" data-unit=\"req/s\">{requests}</td>\
         <td class=\"number rate\" data-unit=\"tok/s\">{tokens}</td>\
         <td class=\"number ttft\">{ttft}</td><td class=\"when\">{when}</td>\
         <td class=\"aside tags\">{tags}</td></tr>\n",
        name = shown(&result.name),
        page = escaped(page),
        kind = both(result.what.kind()),
        label = label.unwrap_or_default(),
        when = shown(&result.when()),
        state = both(result.state.text()),
        load = spans(&load) + &curve(&result.curve, result.what.curve()),
        ttft = result.ttft_median().unwrap_or_default(),
    )
}

/// A small picture of the course of a result, in equal steps; nothing of fewer than three values.
fn curve(values: &[f64], title: SiteText) -> String {
    let most = values.iter().copied().fold(0.0, f64::max);
    // What is the same throughout is no course.
    if values.len() < 3 || values.iter().all(|it| *it == values[0]) || most <= 0.0 {
        return String::new();
    }
    let last = values.len() - 1;
    let places: String = (values.iter().enumerate())
        .map(|(at, value)| {
            let x = 2.0 + 68.0 * at as f64 / last as f64;
            format!("{x:.1},{:.1} ", 18.0 - 16.0 * value / most)
        })
        .collect();
    format!(
        " <svg class=\"curve\" viewBox=\"0 0 72 20\" role=\"img\">\
         <title {}></title><polyline points=\"{}\"/></svg>",
        attributes(title),
        places.trim_end()
    )
}

fn tags(result: &KnownResult) -> Vec<String> {
    (result.tags.iter())
        .map(|(key, value)| clean(&format!("{key}={value}")))
        .collect()
}

fn models(result: &KnownResult) -> Vec<String> {
    result.models.iter().map(|it| clean(it)).collect()
}

fn engines(result: &KnownResult) -> Vec<String> {
    result.engines.iter().map(|it| clean(it)).collect()
}

fn data(entries: &[Entry]) -> Value {
    let languages =
        |text: &dyn Fn(Lang) -> String| json!({"en": text(Lang::En), "zh": text(Lang::Zh)});
    let metrics: Vec<Value> = (Metric::VARIANTS.iter())
        .map(|&metric| {
            let unit = match unit_of(metric) {
                MetricUnit::Time => "ms",
                MetricUnit::Sign(sign) => sign,
            };
            let mut named = languages(&|lang| metric_name(metric, lang));
            named["unit"] = unit.into();
            named
        })
        .collect();
    let entries: Vec<Value> = (entries.iter())
        .map(|Entry { page, result }| {
            let tags = tags(result);
            let label = clean(result.label.as_deref().unwrap_or_default());
            let name = clean(&result.name);
            let figures = result.figures.as_ref();
            let values: Vec<Option<f64>> = (Metric::VARIANTS.iter())
                .map(|metric| figures.and_then(|summary| metric.of(summary)))
                .collect();
            let title = if label.is_empty() { name.clone() } else { label.clone() };
            json!({
                "page": page,
                "title": title,
                "kind": result.what.kind().text(Lang::En),
                "point": result.point.as_deref().map(clean),
                "verdict": <&str>::from(result.state),
                "state": languages(&|lang| result.state.text().text(lang).to_owned()),
                "flaws": languages(&|lang| result.flaws(lang).join(" · ")),
                "computed": result.computed,
                "running": result.state == RunState::Running,
                "climbs": climbs(result),
                "lengths": figures.map(|summary| [summary.tokens.input_mean, summary.tokens.output_mean]),
                "words": words(result, &tags),
                "comparable": matches!(result.what, Listed::Run(_) | Listed::Sweep { .. } | Listed::Import { .. }),
                "model": models(result),
                "engine": engines(result),
                "tag": tags,
                "day": result.started.as_deref().and_then(|it| it.get(..10)),
                "values": values,
            })
        })
        .collect();
    json!({
        "rows": FIRST_ROWS,
        "more": languages(&|lang| SiteText::More.text(lang).to_owned()),
        "metric": languages(&|lang| SiteText::Metric.text(lang).to_owned()),
        "computed": languages(&|lang| SiteText::Computed.text(lang).to_owned()),
        "metrics": metrics,
        "entries": entries,
    })
}

/// All by which a result may be looked for.
fn words(result: &KnownResult, tags: &[String]) -> String {
    let state = [Lang::En, Lang::Zh].map(|lang| result.state.text().text(lang));
    let label = result.label.as_deref().unwrap_or_default();
    let told = [models(result), engines(result), result.words.clone()].concat();
    let told = told.join(" ");
    // With the year, which the list leaves out.
    let started = result.started.as_deref().unwrap_or_default();
    let kind = [Lang::En, Lang::Zh].map(|lang| result.what.kind().text(lang));
    let (when, tags, state) = (result.when(), tags.join(" "), state.join(" "));
    let kind = kind.join(" ");
    let all = [
        &result.name,
        label,
        &kind,
        &state,
        started,
        &when,
        &tags,
        &told,
    ];
    printable(&all.join(" "), 4 * MOST_CHARS).to_lowercase()
}

/// Whether its load is held as streams or as a rate, where that is known.
fn climbs(result: &KnownResult) -> Option<&'static str> {
    let named = |text: &str| {
        let mut known = ["concurrency", "rate"].into_iter();
        known.find(|axis| text.contains(axis))
    };
    match &result.what {
        Listed::Run(load) => named(&load.as_ref()?.over),
        Listed::Capacity { over, .. } => named(over),
        _ => named(result.point.as_deref()?),
    }
}

/// JSON inside a script element: no text in it can end the element.
fn embedded(value: &Value) -> String {
    value.to_string().replace('<', "\\u003c")
}

/// A text in both languages, of which the page shows one.
fn both(text: impl Text) -> String {
    spans(&[Lang::En, Lang::Zh].map(|lang| text.text(lang).to_owned()))
}

/// A text in both languages, for a script.
fn texts(text: impl Text) -> Value {
    json!([Lang::En, Lang::Zh].map(|lang| text.text(lang)))
}

fn spans([en, zh]: &[String; 2]) -> String {
    if en == zh {
        escaped(en)
    } else {
        format!(
            "<span lang=\"en\">{}</span><span lang=\"zh-CN\">{}</span>",
            escaped(en),
            escaped(zh)
        )
    }
}

/// Both languages of what holds no elements; the script shows one.
fn attributes(text: impl Text) -> String {
    let [en, zh] = [Lang::En, Lang::Zh].map(|lang| escaped(text.text(lang)));
    format!("data-en=\"{en}\" data-zh=\"{zh}\"")
}

fn option(text: impl Text, value: &str) -> String {
    let (attributes, value) = (attributes(text), escaped(value));
    format!("<option value=\"{value}\" {attributes}></option>")
}

fn shown(text: &str) -> String {
    escaped(&clean(text))
}

fn clean(text: &str) -> String {
    printable(text, MOST_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ladder_has_a_small_curve_in_the_list_and_a_single_point_has_none() {
        let drawn = curve(&[100.0, 400.0, 300.0], SiteText::CurveOfLadder);
        assert!(
            drawn.contains("points=\"2.0,14.0 36.0,2.0 70.0,6.0\""),
            "{drawn}"
        );
        assert_eq!(curve(&[400.0], SiteText::CurveOfLadder), "");
        assert_eq!(curve(&[0.0, 0.0, 0.0], SiteText::CurveOfLadder), "");
    }

    fn entry(name: &str, taken: &mut HashSet<String>) -> Entry {
        Entry {
            page: page_name(name, taken),
            result: KnownResult {
                started: Some("2026-11-15T02:23:34Z".to_owned()),
                ..KnownResult::new(name, Listed::Run(None), RunState::Valid)
            },
        }
    }

    #[test]
    fn hostile_names_labels_and_tags_are_text_wherever_they_stand() {
        let evil = "</script><script>alert(1)</script><img src=x onerror='a'>\"";
        let mut one = entry(evil, &mut HashSet::new());
        one.result.label = Some(evil.to_owned());
        one.result.tags.insert(evil.to_owned(), evil.to_owned());
        one.result.point = Some(evil.to_owned());
        let page = index(&[one], Hosting::Files, Lang::En);
        assert_eq!(page.matches("<script").count(), 2, "data and our script");
        assert_eq!(page.matches("</script>").count(), 2);
        assert!(!page.contains("<img"), "{page}");
        assert!(page.contains("&lt;script&gt;alert(1)"));
        let both = [evil, evil].map(str::to_owned);
        let plain = plain_page(evil, &both, Some(&both), "../", Lang::Zh);
        assert_eq!(plain.matches("<script").count(), 1, "our script");
        assert!(!plain.contains("<img"), "{plain}");
    }

    #[test]
    fn the_embedded_data_are_json_with_a_value_or_null_for_each_metric() {
        let page = index(&[entry("a", &mut HashSet::new())], Hosting::Files, Lang::Zh);
        let from = page.find("id=\"data\">").unwrap() + "id=\"data\">".len();
        let text = &page[from..from + page[from..].find("</script>").unwrap()];
        let data: Value = serde_json::from_str(text).unwrap();
        let metrics = data["metrics"].as_array().unwrap().len();
        assert_eq!(metrics, Metric::VARIANTS.len());
        let values = data["entries"][0]["values"].as_array().unwrap();
        assert!(values.len() == metrics && values.iter().all(Value::is_null));
        assert!(page.contains("data-lang=\"zh\""));
    }

    #[test]
    fn what_has_no_figures_cannot_be_chosen_and_what_was_computed_says_so() {
        let mut import = entry("notes", &mut HashSet::new());
        import.result.what = Listed::Import { results: 3 };
        let page = index(&[import.clone()], Hosting::Files, Lang::En);
        assert!(!page.contains("type=\"checkbox\""), "{page}");
        assert!(!page.contains("class=\"tag faint\">"), "{page}");
        import.result.computed = true;
        let page = index(&[import], Hosting::Files, Lang::En);
        assert!(page.contains("class=\"tag faint\"><span lang=\"en\">computed, not measured"));
    }

    #[test]
    fn a_label_stands_below_the_name_unless_it_says_the_same() {
        let mut one = entry("nightly", &mut HashSet::new());
        one.result.label = Some("nightly".to_owned());
        let page = index(&[one.clone()], Hosting::Files, Lang::En);
        assert!(page.contains(">nightly</a></td>"), "{page}");
        one.result.label = Some("after the driver".to_owned());
        let page = index(&[one], Hosting::Files, Lang::En);
        assert!(
            page.contains(">nightly</a><div class=\"faint\">after the driver</div></td>"),
            "{page}"
        );
    }

    #[test]
    fn every_kind_can_be_filtered_and_an_empty_list_says_how_to_fill_it() {
        let page = index(&[], Hosting::Starter, Lang::En);
        for kind in ["run", "sweep", "capacity", "study", "import", "comparison"] {
            assert!(
                page.contains(&format!("<option value=\"{kind}\"")),
                "{kind}"
            );
        }
        assert!(page.contains("No results here yet"), "{page}");
        assert!(page.contains("<a href=\"new\">") && page.contains("<a href=\"history\">"));
        let page = index(&[entry("a", &mut HashSet::new())], Hosting::Files, Lang::En);
        assert!(!page.contains("No results here yet"), "{page}");
        assert!(!page.contains("href=\"history\""), "{page}");
    }

    #[test]
    fn pages_have_safe_names_and_none_twice() {
        let mut taken = HashSet::new();
        assert_eq!(page_name("../a b", &mut taken), "-a-b.html");
        assert_eq!(page_name("../a b", &mut taken), "-a-b-2.html");
        assert_eq!(page_name("../A b", &mut taken), "-A-b-3.html");
        assert_eq!(page_name("夜", &mut taken), "-.html");
        assert_eq!(page_name("...", &mut taken), "result.html");
    }

    #[test]
    fn nothing_comes_from_elsewhere() {
        let page = index(
            &[entry("a", &mut HashSet::new())],
            Hosting::Server,
            Lang::En,
        );
        assert!(
            !page.contains("http://") && !page.contains("https://"),
            "{page}"
        );
        assert!(!page.contains("src="));
    }
}
