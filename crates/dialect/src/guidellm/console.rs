//! The tables of the console, a row a benchmark, under three lines of heads.

use super::distribution::Summary;
use super::{Numbers, Strategy};

/// A column: its three heads and a cell for each benchmark.
struct Column {
    heads: [&'static str; 3],
    cells: Vec<String>,
}

/// All tables over some benchmarks.
pub(crate) fn tables(benchmarks: &[Numbers]) -> String {
    let latencies = latencies(benchmarks);
    let mut cells = latencies.iter().flat_map(|column| &column.cells);
    let footnote = if cells.any(|cell| cell.ends_with('*')) {
        "* confidence interval unavailable at this sample size\n"
    } else {
        ""
    };
    [
        table("Run Summary Info", run_summary(benchmarks)),
        table(
            "Request Token Statistics (Completed Requests)",
            lengths(benchmarks),
        ),
        table("Request Latency Statistics (Completed Requests)", latencies) + footnote,
        table(
            "Server Throughput Statistics (All Requests)",
            throughput(benchmarks),
        ),
    ]
    .join("\n\n")
}

fn column(
    benchmarks: &[Numbers],
    heads: [&'static str; 3],
    cell: impl Fn(&Numbers) -> String,
) -> Column {
    Column {
        heads,
        cells: benchmarks.iter().map(cell).collect(),
    }
}

fn names(benchmarks: &[Numbers]) -> Column {
    column(benchmarks, ["Benchmark", "Strategy", ""], |of| {
        of.strategy.name()
    })
}

impl Strategy {
    /// `concurrent@4`.
    fn name(&self) -> String {
        match (self.kind, self.level, self.cap) {
            ("concurrent", Some(streams), _) => format!("concurrent@{streams}"),
            ("throughput", _, Some(cap)) => format!("throughput@{cap}"),
            ("throughput", _, None) => "throughput@unlimited".to_owned(),
            (kind, Some(rate), _) => format!("{kind}@{rate:.2}"),
            (kind, None, _) => kind.to_owned(),
        }
    }
}

fn shown(value: f64) -> String {
    format!("{value:.1}")
}

fn run_summary(benchmarks: &[Numbers]) -> Vec<Column> {
    let clock = |at: usize| {
        let cell = move |of: &Numbers| of.clock[at].strftime("%H:%M:%S").to_string();
        column(benchmarks, ["Timings", ["Start", "End"][at], ""], cell)
    };
    // The warm-up and the hold are no part of what is measured.
    let around = |name| column(benchmarks, ["Timings", name, "Sec"], |_| shown(0.0));
    let mut columns = vec![
        names(benchmarks),
        clock(0),
        clock(1),
        column(benchmarks, ["Timings", "Dur", "Sec"], |of| {
            shown(of.duration_s)
        }),
        around("Warm"),
        around("Cool"),
    ];
    // The table has incomplete requests before failed ones, the report after them.
    let statuses = [("Comp", 0), ("Inc", 2), ("Err", 1)];
    columns.extend(statuses.map(|(name, at)| {
        column(benchmarks, ["Requests", name, "Tot"], |of| {
            of.totals[at].to_string()
        })
    }));
    for (group, key) in [
        ("Input Tokens", "prompt_token_count"),
        ("Output Tokens", "output_token_count"),
    ] {
        columns.extend(statuses.map(|(name, at)| {
            column(benchmarks, [group, name, "Tot"], |of| {
                shown(of.metric(key).0[at].total())
            })
        }));
    }
    columns
}

fn lengths(benchmarks: &[Numbers]) -> Vec<Column> {
    let mut columns = vec![names(benchmarks)];
    for (group, name, key) in [
        ("Input Tok", "Per Req", "prompt_token_count"),
        ("Output Tok", "Per Req", "output_token_count"),
        ("Total Tok", "Per Req", "total_token_count"),
        (
            "Stream Iter",
            "Per Req",
            "request_streaming_iterations_count",
        ),
        (
            "Output Tok",
            "Per Stream Iter",
            "output_tokens_per_iteration",
        ),
    ] {
        columns.extend([("Mdn", "p50"), ("p95", "p95")].map(|(head, rank)| {
            column(benchmarks, [group, name, head], |of| {
                shown(of.metric(key).successful().percentile(rank))
            })
        }));
    }
    columns
}

fn latencies(benchmarks: &[Numbers]) -> Vec<Column> {
    let mut columns = vec![names(benchmarks)];
    for (group, unit, key) in [
        ("Request Latency", "Sec", "request_latency"),
        ("TTFT", "ms", "time_to_first_token_ms"),
        ("TTFOT", "ms", "time_to_first_output_token_ms"),
        ("ITL", "ms", "inter_token_latency_ms"),
        ("TPOT", "ms", "time_per_output_token_ms"),
    ] {
        let of = |head, cell: &dyn Fn(&Summary) -> String| {
            column(benchmarks, [group, unit, head], |of| {
                cell(of.metric(key).successful())
            })
        };
        columns.extend([
            of("Mean", &mean_with_margin),
            of("Mdn", &|summary| shown(summary.percentile("p50"))),
            of("p95", &|summary| {
                let mark = if summary.is_unbounded_at_p95() {
                    "*"
                } else {
                    ""
                };
                shown(summary.percentile("p95")) + mark
            }),
        ]);
    }
    columns
}

/// The margin with up to three more digits where it would be 0.
fn mean_with_margin(summary: &Summary) -> String {
    let mean = shown(summary.mean);
    let Some((low, high)) = summary.intervals.as_ref().map(|intervals| intervals.mean) else {
        return mean;
    };
    let margin = (high - low) / 2.0;
    let digits = (1..=3).find(|&digits| margin >= 0.5 * 0.1_f64.powi(digits));
    let digits = match (margin > 0.0, digits) {
        (true, digits) => digits.unwrap_or(4) as usize,
        (false, _) => 1,
    };
    format!("{mean} ± {margin:.digits$}")
}

fn throughput(benchmarks: &[Numbers]) -> Vec<Column> {
    let mean = |group, name, key| {
        column(benchmarks, [group, name, "Mean"], move |of| {
            shown(of.metric(key).total().mean)
        })
    };
    let mut columns = vec![
        names(benchmarks),
        column(benchmarks, ["Requests", "Concurrency", "Mdn"], |of| {
            shown(of.metric("request_concurrency").total().percentile("p50"))
        }),
        mean("Requests", "Concurrency", "request_concurrency"),
        mean("Requests", "Per Sec", "requests_per_second"),
        mean("Input Tokens", "Per Sec", "prompt_tokens_per_second"),
        mean("Output Tokens", "Per Sec", "output_tokens_per_second"),
        mean("Total Tokens", "Per Sec", "tokens_per_second"),
    ];
    if benchmarks.iter().any(|of| of.goodput.is_some()) {
        let known = |value: Option<f64>| value.map_or("--".to_owned(), shown);
        columns.push(column(benchmarks, ["Goodput", "Attainment", "%"], |of| {
            known(
                of.goodput
                    .as_ref()
                    .and_then(|it| Some(100.0 * it.attainment?)),
            )
        }));
        columns.push(column(benchmarks, ["Goodput", "Per Sec", "Mean"], |of| {
            let rate = of.goodput.as_ref().and_then(|it| it.rate.as_ref());
            known(rate.map(|rate| rate.total().mean))
        }));
    }
    columns
}

/// A table with its title. Equal heads beside each other, below equal ones, are one, which leaves
/// empty cells behind it.
fn table(title: &str, columns: Vec<Column>) -> String {
    let padded = |text: &str| match text {
        "" => String::new(),
        text => format!(" {text} "),
    };
    let mut widths: Vec<usize> = (columns.iter())
        .map(|column| {
            let cells = column.cells.iter().map(|cell| padded(cell).chars().count());
            cells.max().unwrap_or(0)
        })
        .collect();
    // First column and number of columns of each head, by line.
    let mut spans: [Vec<(usize, usize)>; 3] = Default::default();
    for (line, spans) in spans.iter_mut().enumerate() {
        for (at, column) in columns.iter().enumerate() {
            let head = column.heads[line];
            let goes_on = spans.last().is_some_and(|&(first, _)| {
                let first: &Column = &columns[first];
                !head.is_empty()
                    && first.heads[line] == head
                    && (line == 0 || first.heads[line - 1] == column.heads[line - 1])
            });
            match spans.last_mut().filter(|_| goes_on) {
                Some((_, count)) => *count += 1,
                None => spans.push((at, 1)),
            }
        }
        // A head that is too long widens its columns from the left.
        for &(first, count) in spans.iter() {
            let room: usize = widths[first..first + count].iter().sum();
            let lacking = padded(columns[first].heads[line])
                .len()
                .saturating_sub(room);
            for (at, width) in widths[first..first + count].iter_mut().enumerate() {
                *width += lacking / count + usize::from(at < lacking % count);
            }
        }
    }
    let rule = |sign: &str| {
        let cells: Vec<String> = widths.iter().map(|&width| sign.repeat(width)).collect();
        format!("|{}|\n", cells.join("|"))
    };
    let heads = spans.iter().enumerate().map(|(line, spans)| {
        let cells = spans.iter().map(|&(first, count)| {
            let room: usize = widths[first..first + count].iter().sum();
            let head = padded(columns[first].heads[line]);
            format!("{head:<room$}{}", "|".repeat(count - 1))
        });
        format!("|{}|\n", cells.collect::<Vec<_>>().join("|"))
    });
    let heads: String = heads.collect();
    let rows = columns.first().map_or(0, |column| column.cells.len());
    let rows = (0..rows).map(|row| {
        let cells = columns.iter().zip(&widths).map(|(column, &width)| {
            let cell = padded(&column.cells[row]);
            format!("{cell:<width$}")
        });
        format!("|{}|\n", cells.collect::<Vec<_>>().join("|"))
    });
    let rows: String = rows.collect();
    format!(
        "ℹ {title}\n{}{heads}{}{rows}{}",
        rule("="),
        rule("-"),
        rule("=")
    )
}
