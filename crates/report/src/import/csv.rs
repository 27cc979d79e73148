//! An import for spreadsheets.

use super::{ImportReport, statistics};
use crate::csv::{field, harmless};

/// One row per result, with names of columns that do not change.
pub fn csv(reports: &[ImportReport<'_>]) -> String {
    const LATENCIES: [&str; 5] = ["TTFT", "TPOT", "ITL", "E2E", "max gap"];
    // In the order of `statistics`, without the 75th percentile, which has no column of its own.
    const STATISTICS: [&str; 6] = ["mean", "p50", "p90", "p95", "p99", "max"];
    let chosen = reports.first().and_then(|report| report.columns);
    let mut names = String::from(match chosen {
        Some(_) => "file,first_line,last_line,tool,label,point",
        None => {
            "file,first_line,last_line,tool,label,point,planned,ok,failed,requests_per_s,output_tokens_per_s,total_tokens_per_s,input_mean,output_mean"
        }
    });
    for column in chosen.iter().flat_map(|chosen| &chosen.0) {
        names.push_str(&format!(",{column}"));
    }
    for latency in LATENCIES.into_iter().filter(|_| chosen.is_none()) {
        for statistic in STATISTICS {
            let latency = latency.to_lowercase().replace(' ', "_");
            names.push_str(&format!(",{latency}_ms_{statistic}"));
        }
    }
    names.push_str(",doubts,error,section\r\n");
    let mut out = names;
    let results = reports.iter().flat_map(|report| &report.results);
    for result in results.filter(|result| !result.is_repeat) {
        let text = |text: &str| field(&harmless(text));
        let real = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
        let whole = |value: Option<u64>| value.map(|value| value.to_string()).unwrap_or_default();
        let mut cells = vec![
            text(&result.found.file),
            whole(result.lines().map(|lines| lines.0)),
            whole(result.lines().map(|lines| lines.1)),
            text(result.found.tool.name()),
            text(result.found.label.as_deref().unwrap_or_default()),
            text(&result.point().to_string()),
        ];
        match chosen {
            Some(chosen) => cells.extend(chosen.of(&result.found.summary).into_iter().map(real)),
            None => {
                let requests = result.requests();
                cells.extend([requests.planned, requests.ok, requests.failed].map(whole));
                let throughput = result.throughput();
                cells.extend(
                    [
                        throughput.requests_per_s,
                        throughput.output_tokens_per_s,
                        throughput.total_tokens_per_s,
                    ]
                    .map(real),
                );
                cells.extend(result.lengths().map(real));
                for (_, spread) in result.latencies() {
                    let [mean, p50, _, rest @ ..] = spread.map_or([None; 7], statistics);
                    cells.extend([mean, p50].into_iter().chain(rest).map(real));
                }
            }
        }
        let mut codes: Vec<&str> = result
            .doubts
            .iter()
            .map(|doubt| doubt.code.name())
            .collect();
        codes.dedup();
        cells.push(text(&codes.join(" ")));
        cells.push(text(result.found.error.as_deref().unwrap_or_default()));
        cells.push(text(&result.found.section.join(" / ")));
        out.push_str(&cells.join(","));
        out.push_str("\r\n");
    }
    out
}
