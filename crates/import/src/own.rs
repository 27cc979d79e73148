//! What we wrote ourselves and is read back: the mark of an INVALID run in another tool's words, and
//! our report of a run as Markdown, in both languages.

use crate::result::{ImportedResult, Tool};
use inferometer_core::summary::{INVALID_KEY, INVALID_LINE};
use inferometer_notes::Notes;
use inferometer_text::hostile::printable;
use serde_json::Value;

/// Lines below the verdict of a report in which its load stands.
const HEAD: usize = 20;

/// A report of ours: the line of its verdict, and the line after its last.
struct Report {
    first: usize,
    end: usize,
    is_invalid: bool,
}

/// Notes which results were INVALID when we wrote them, and makes one result of each report. Results
/// are in the order of their lines, and stay so.
pub(crate) fn read(results: &mut Vec<ImportedResult>, notes: &Notes<'_>) {
    for (line, text) in notes.lines.iter().enumerate() {
        if let Some(at) = text.find(INVALID_KEY) {
            // Inside the object, at its beginning.
            let after = results.partition_point(|found| found.span().1 < line);
            let lines = results.get(after).map(|found| found.lines);
            mark(results, lines, &in_brackets(&text[at..], ['[', ']']));
        } else if let Some(rest) = notes.bare(line).strip_prefix(INVALID_LINE) {
            let before = results.partition_point(|found| found.span().0 < line);
            let lines = before.checked_sub(1).map(|at| results[at].lines);
            mark(results, lines, &in_brackets(rest, ['(', ')']));
        }
    }
    for report in reports(notes).into_iter().rev() {
        let begin = results.partition_point(|found| found.span().0 < report.first);
        let end = results.partition_point(|found| found.span().0 < report.end);
        let parts: Vec<ImportedResult> = results.drain(begin..end).collect();
        let (tables, others): (Vec<_>, Vec<_>) =
            (parts.into_iter()).partition(|found| found.tool == Tool::MarkdownTable);
        let joined = joined(tables, &report, notes);
        results.splice(begin..begin, joined.into_iter().chain(others));
    }
}

/// Marks results that stand in these lines.
fn mark(results: &mut [ImportedResult], lines: Option<(u64, u64)>, codes: &str) {
    for found in results
        .iter_mut()
        .filter(|found| Some(found.lines) == lines)
    {
        if let Some(summary) = &mut found.summary {
            summary.other.insert(INVALID_KEY.to_owned(), codes.into());
        }
    }
}

/// What stands between brackets, without quotes and with a blank behind each comma.
fn in_brackets(text: &str, [open, close]: [char; 2]) -> String {
    let inner = (text.split_once(open)).and_then(|(_, rest)| rest.split_once(close));
    let codes = inner.map_or("", |(inner, _)| inner).split(',');
    let codes: Vec<&str> = codes.map(|code| code.trim().trim_matches('"')).collect();
    printable(&codes.join(", "), 200)
}

/// Reports of runs: a verdict in bold, with the load below it.
fn reports(notes: &Notes<'_>) -> Vec<Report> {
    let mut reports: Vec<Report> = Vec::new();
    for (line, text) in notes.lines.iter().enumerate() {
        let verdicts = [
            ("VALID", false),
            ("INVALID", true),
            ("有效", false),
            ("无效", true),
        ];
        let said = text
            .strip_prefix("**")
            .and_then(|rest| rest.split_once("**"));
        let verdict = said.and_then(|(word, _)| verdicts.iter().find(|(known, _)| *known == word));
        let Some((_, is_invalid)) = verdict else {
            continue;
        };
        let end = notes.lines.len().min(line + HEAD);
        if pair(notes, line..end, ["Load", "负载"]).is_some() {
            if let Some(last) = reports.last_mut() {
                last.end = line;
            }
            reports.push(Report {
                first: line,
                end: notes.lines.len(),
                is_invalid: *is_invalid,
            });
        }
    }
    reports
}

/// The value of `- **Name:** value`, in either language.
fn pair<'n>(notes: &Notes<'n>, lines: std::ops::Range<usize>, names: [&str; 2]) -> Option<&'n str> {
    let mut lines = notes.lines[lines].iter();
    lines.find_map(|line| {
        let (name, value) = line.trim().strip_prefix("- **")?.split_once(":**")?;
        names.contains(&name).then_some(value.trim())
    })
}

/// The numbers in a text, with the word before each.
fn counts(text: &str) -> impl Iterator<Item = (String, u64, String)> {
    let text = text.replace(',', "");
    let words: Vec<String> = (text.split([' ', ';', '，', '；']))
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect();
    let at = move |at: usize| words.get(at).cloned().unwrap_or_default();
    (0..64usize).filter_map(move |place| {
        let before = place.checked_sub(1).map(&at).unwrap_or_default();
        Some((before, at(place).parse().ok()?, at(place + 1)))
    })
}

/// The tables of a report as one result, with what its pairs say.
fn joined(
    tables: Vec<ImportedResult>,
    report: &Report,
    notes: &Notes<'_>,
) -> Option<ImportedResult> {
    let mut tables = tables.into_iter();
    let mut found = tables.next()?;
    for more in tables {
        found.lines = (
            found.lines.0.min(more.lines.0),
            found.lines.1.max(more.lines.1),
        );
        if let (Some(mine), Some(more)) = (&mut found.summary, &more.summary) {
            mine.fill(more);
        }
        found.assumed.extend(more.assumed);
        for (name, reason) in more.unread_because {
            found.is_without(name, reason);
        }
    }
    found.lines.0 = report.first as u64 + 1;
    let lines = report.first..report.end;
    if let Some(model) = pair(notes, lines.clone(), ["Model", "模型"]) {
        found.is_of_model(model);
    }
    let load = pair(notes, lines.clone(), ["Load", "负载"]).unwrap_or_default();
    for (before, count, _) in counts(load) {
        if matches!(before.as_str(), "concurrency" | "并发数") {
            found.point.insert("concurrency".to_owned(), count.into());
        }
    }
    let words: Vec<&str> = load.split([' ', '，', ',']).collect();
    if let Some(rate) = words.windows(2).find(|pair| pair[1] == "req/s")
        && let Ok(rate) = rate[0].parse::<f64>()
    {
        found.point.insert("rate".to_owned(), rate.into());
    }
    if let Some(summary) = &mut found.summary {
        summary.concurrency.configured = found.point.get("concurrency").and_then(Value::as_u64);
        let requests = pair(notes, lines.clone(), ["Requests", "请求数"]).unwrap_or_default();
        for (before, count, behind) in counts(requests) {
            let named = |english: &str, chinese: &str| behind == english || before == chinese;
            let place = &mut summary.requests;
            match () {
                () if named("ok", "成功") => place.ok = Some(count),
                () if named("failed", "失败") => place.failed = Some(count),
                () if named("cut", "截断") => place.cut = Some(count),
                () if named("unsent", "未发") => place.unsent = Some(count),
                () if named("planned", "计划") => place.planned = Some(count),
                () => {}
            }
        }
        if report.is_invalid {
            let reasons = notes.lines[lines].iter().filter_map(|line| {
                let rest = line.trim().strip_prefix("- **INVALID** `");
                let rest = rest.or(line.trim().strip_prefix("- **无效** `"))?;
                rest.split('`').next()
            });
            let codes: Vec<&str> = reasons.collect();
            let codes = printable(&codes.join(", "), 200);
            summary.other.insert(INVALID_KEY.to_owned(), codes.into());
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use crate::read;

    /// Our report of a run, in its parts that are read.
    fn report(verdict: &str, load: &str, accounts: &str, doubt: &str) -> String {
        format!(
            "{verdict} 1 note\n\n- **Model:** qwen2.5-7b\n{load}\n\n## Result\n\n\
             |  |  |  | 95 % interval |\n| :-- | --: | :-- | --: |\n\
             | Request throughput | 6.08 | req/s | 6.08 – 6.08 |\n\
             | Output throughput | 778 | tok/s | 770 – 790 |\n\
             | TTFT, median | 50.1 | ms | 50.1 – 50.1 |\n\n{accounts}\n\n## Latency\n\n\
             |  |  | mean | p50 | p90 | p95 | p99 | max |\n\
             | :-- | :-- | --: | --: | --: | --: | --: | --: |\n\
             | TTFT | ms | 51.1 | 50.1 | 52.1 | 53.1 | 55.5\\* | 60.1 |\n\
             | max gap | ms | 21.8 | 21.8 | 21.9 | 22.8 | 23.8\\* | 24.8 |\n\
             | E2E | ms | 1,316 | 1,300 | 1,400 | 1,500 | 1,616\\* | 1,700 |\n\n\
             ## Doubts\n\n- {doubt}: 3 of 100 requests are lost\n  - → measure again\n"
        )
    }

    #[test]
    fn our_report_is_one_result_with_its_load_and_its_verdict() {
        let english = report(
            "**INVALID**",
            "- **Load:** closed loop, concurrency 8, streams spread during the warm-up",
            "- **Requests:** 97 ok, 1 failed, 0 cut, 2 unsent; 100 planned",
            "**INVALID** `lost-requests`",
        );
        let chinese = report(
            "**无效**",
            "- **负载:** 闭环，并发数 8，各路请求在预热中错开",
            "- **请求数:** 成功 97，失败 1，截断 0，未发 2；计划 100",
            "**无效** `lost-requests`",
        );
        for text in [english, chinese] {
            let results = read("report.md", &text).results;
            assert_eq!(results.len(), 1, "{results:#?}");
            let summary = results[0].summary.as_ref().unwrap();
            assert_eq!(results[0].point["concurrency"], 8);
            assert_eq!(results[0].facts["model"], "qwen2.5-7b");
            assert_eq!(summary.throughput.output_tokens_per_s, Some(778.0));
            let ttft = summary.latency.ttft_ms.as_ref().unwrap();
            assert_eq!((ttft.mean, ttft.p99), (Some(51.1), Some(55.5)));
            assert_eq!(summary.latency.e2e_ms.as_ref().unwrap().p99, Some(1616.0));
            assert_eq!(summary.latency.max_gap_ms.as_ref().unwrap().p99, Some(23.8));
            let requests = summary.requests;
            let counted = (
                requests.planned,
                requests.ok,
                requests.failed,
                requests.unsent,
            );
            assert_eq!(counted, (Some(100), Some(97), Some(1), Some(2)));
            assert!(!summary.valid);
            assert!(
                results[0].doubts[0].text.contains("lost-requests"),
                "{results:#?}"
            );
        }
        let valid = report(
            "**VALID**",
            "- **Load:** open loop, 2.5 req/s, Poisson arrivals",
            "- **Requests:** 100 ok, 0 failed, 0 cut, 0 unsent; 100 planned",
            "**note** `few-samples`",
        );
        let results = read("report.md", &(valid.clone() + &valid)).results;
        assert_eq!(results.len(), 2);
        assert_eq!(results[1].point["rate"], 2.5);
        assert!(results.iter().all(|it| it.summary.as_ref().unwrap().valid));
    }

    #[test]
    fn the_percentiles_of_a_latency_are_read_by_their_long_name() {
        let text = r#"{"Expected number of requests": 100, "Total requests": 100,
            "Succeed requests": 100, "Average QPS": 5.6, "Average latency": 1.3,
            "Percentile of request latency": {"p50": 1.2, "p99": 1.9}}"#;
        let results = read("saved.json", text).results;
        let latency = &results[0].summary.as_ref().unwrap().latency;
        assert_eq!(latency.e2e_ms.as_ref().unwrap().p99, Some(1900.0));
        assert!(results[0].unread.is_empty(), "{:?}", results[0].unread);
    }
}
