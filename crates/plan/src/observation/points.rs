//! A table of load points with their flags and lengths, as CSV, Markdown or JSON: a row for each
//! point, a column for each setting and figure.
//!
//! Columns go by the names of `summary.json`, or as people write them (`streams`, `in / out`,
//! `req/s`, `mean TTFT ms`). A column with the name of a flag holds its values, an empty cell its
//! default; a column `flags` holds several (`max-num-seqs 32, enforce-eager`).

mod table;

use super::{MeasuredOn, Observation, engine_named};
use crate::flags::Flag;
use crate::means::Means;
use crate::work::Load;
use inferometer_catalog::engine::flag::{Lookup, lookup};
use inferometer_catalog::engine::{EngineKind, Version};
use inferometer_core::length::Distribution as Lengths;
use table::{PointTable, tables};

#[derive(Clone, Debug, PartialEq)]
enum Column {
    Concurrency,
    Rate,
    Requests,
    Input,
    Output,
    /// Both lengths: `512 / 128`.
    Both,
    RequestsPerS,
    TokensPerS,
    Ttft,
    Tpot,
    E2e,
    EngineTtft,
    EngineTpot,
    Version,
    Engine,
    Model,
    Card,
    Flags,
    Flag(String),
    Remark,
}

/// The points of a file; none where it holds no such table. `Err` says what in it is wrong.
pub(super) fn read(name: &str, text: &str) -> Result<Vec<Observation>, String> {
    let mut all = Vec::new();
    for table in tables(text) {
        let columns: Vec<Option<Column>> = table.titles.iter().map(|title| column(title)).collect();
        if !holds_points(&columns) {
            continue;
        }
        let mut named = columns.iter().zip(&table.titles);
        let unknown = named.find(|(column, _)| column.is_none());
        if let Some((_, title)) = unknown {
            return Err(format!(
                "its column '{}' is neither a figure nor a flag of an engine; rename it, or call it 'note'",
                shortened(title)
            ));
        }
        let columns: Vec<Column> = columns.into_iter().flatten().collect();
        for (line, cells) in &table.rows {
            let mut point = Point::default();
            for (column, cell) in columns.iter().zip(cells) {
                point.take(column, cell).map_err(|wanted| {
                    format!(
                        "line {line} has '{}' where {wanted} belongs",
                        shortened(cell)
                    )
                })?;
            }
            let observation = point.observation(format!("{name} line {line}"));
            all.push(observation.ok_or_else(|| {
                format!("line {line} has no load (concurrency or rate) or no figure at all")
            })?);
        }
    }
    Ok(all)
}

/// The tables of a text with bars, for the reader of tables in notes: it knows more names of
/// columns, and the same numbers must mean the same in every form.
pub(super) fn to_markdown(text: &str) -> String {
    let tables: Vec<String> = tables(text).iter().map(PointTable::to_markdown).collect();
    tables.join("\n")
}

fn shortened(text: &str) -> String {
    inferometer_text::hostile::printable(text, 40)
}

/// A load, a figure, and what tables of other tools lack: flags or lengths.
fn holds_points(columns: &[Option<Column>]) -> bool {
    let any = |wanted: fn(&Column) -> bool| columns.iter().flatten().any(wanted);
    use Column::*;
    any(|it| matches!(it, Concurrency | Rate))
        && any(|it| matches!(it, RequestsPerS | TokensPerS | Ttft | Tpot | E2e))
        && any(|it| matches!(it, Input | Output | Both | Flags | Flag(_)))
}

fn column(title: &str) -> Option<Column> {
    let plain: String = title
        .to_lowercase()
        .chars()
        .filter(|sign| sign.is_alphanumeric() || *sign == '/')
        .collect();
    let mut average = ["mean", "平均"].into_iter();
    let plain = average
        .find_map(|word| plain.strip_prefix(word))
        .unwrap_or(&plain);
    Some(match plain {
        "concurrency" | "streams" | "maxconcurrency" | "parallel" | "并发" | "并发数" => {
            Column::Concurrency
        }
        "rate" | "requestrate" => Column::Rate,
        "requests" | "numprompts" | "请求数" => Column::Requests,
        "inputtokens" | "input" | "in" | "prompttokens" | "输入" | "输入长度" | "输入token"
        | "输入token数" => Column::Input,
        "outputtokens" | "output" | "out" | "输出" | "输出长度" | "输出token" | "输出token数" => {
            Column::Output
        }
        "in/out" | "input/output" | "输入/输出" => Column::Both,
        "requestspers" | "requests/s" | "req/s" | "qps" | "rps" | "requestthroughput"
        | "每秒请求" | "每秒请求数" => Column::RequestsPerS,
        "outputtokenspers"
        | "outputtokens/s"
        | "tokens/s"
        | "tok/s"
        | "outputthroughput"
        | "输出吞吐"
        | "输出吞吐量"
        | "输出吞吐tok/s"
        | "输出吞吐量tok/s" => Column::TokensPerS,
        "ttftms" | "ttft" | "首token时延ms" | "首token延迟ms" => Column::Ttft,
        "tpotms" | "tpot" | "每token时延ms" | "每token延迟ms" => Column::Tpot,
        "e2ems" | "e2e" | "e2elms" | "latencyms" | "端到端时延ms" | "时延ms" | "延迟ms" => {
            Column::E2e
        }
        "enginettftms" | "serverttftms" | "引擎ttftms" => Column::EngineTtft,
        "enginetpotms" | "servertpotms" | "引擎tpotms" => Column::EngineTpot,
        "version" | "engineversion" => Column::Version,
        "engine" | "backend" | "推理引擎" | "引擎" => Column::Engine,
        "model" | "模型" => Column::Model,
        "device" | "card" | "gpu" | "设备" | "显卡" => Column::Card,
        "flags" | "参数" => Column::Flags,
        "note" | "notes" | "label" | "name" | "date" | "" => Column::Remark,
        _ => Column::Flag(flag(title)?),
    })
}

/// The flag's own name, of whichever engine has it.
fn flag(title: &str) -> Option<String> {
    let name = title.trim().trim_start_matches('-').replace('_', "-");
    let known = [EngineKind::Vllm, EngineKind::Sglang, EngineKind::Mindie];
    known
        .into_iter()
        .find_map(|engine| match lookup(engine, None, &format!("--{name}")) {
            Lookup::Found { flag, on: true } => Some(flag.to_owned()),
            _ => None,
        })
}

#[derive(Default)]
struct Point {
    concurrency: Option<u32>,
    rate: Option<f64>,
    requests: Option<u32>,
    input: Option<Lengths>,
    output: Option<Lengths>,
    version: Option<Version>,
    on: MeasuredOn,
    flags: Vec<Flag>,
    figures: Means,
}

impl Point {
    /// Takes a cell; `Err` says what would belong there.
    fn take(&mut self, column: &Column, cell: &str) -> Result<(), &'static str> {
        let cell = cell.trim().trim_matches('`');
        if matches!(cell, "" | "-" | "–" | "—" | "null") {
            return Ok(());
        }
        let number = || {
            let number = cell.parse::<f64>().ok();
            let sound = number.filter(|number| number.is_finite() && *number > 0.0);
            sound.map(Some).ok_or("a number above 0")
        };
        let count = || {
            let count = cell.parse::<u32>().ok().filter(|&count| count > 0);
            count.map(Some).ok_or("a whole number above 0")
        };
        let lengths = |text: &str| {
            let lengths = text.trim().parse::<Lengths>();
            lengths
                .map(Some)
                .map_err(|_| "a length such as 512 or normal(512,100)")
        };
        match column {
            Column::Concurrency => self.concurrency = count()?,
            Column::Rate => self.rate = number()?,
            Column::Requests => self.requests = count()?,
            Column::Input => self.input = lengths(cell)?,
            Column::Output => self.output = lengths(cell)?,
            Column::Both => {
                let (input, output) = cell.split_once('/').ok_or("two lengths as in 512 / 128")?;
                (self.input, self.output) = (lengths(input)?, lengths(output)?);
            }
            Column::RequestsPerS => self.figures.requests_per_s = number()?,
            Column::TokensPerS => self.figures.output_tokens_per_s = number()?,
            Column::Ttft => self.figures.ttft_ms = number()?,
            Column::Tpot => self.figures.tpot_ms = number()?,
            Column::E2e => self.figures.e2e_ms = number()?,
            Column::EngineTtft => self.figures.engine_ttft_ms = number()?,
            Column::EngineTpot => self.figures.engine_tpot_ms = number()?,
            Column::Version => {
                let version = cell.parse().map_err(|_| "a version such as 0.11.0")?;
                self.version = Some(version);
            }
            Column::Engine => {
                let engine =
                    engine_named(cell).ok_or("an engine: vllm, sglang, trtllm or mindie")?;
                self.on.engine = Some(engine);
            }
            Column::Model => self.on.model = Some(cell.to_owned()),
            Column::Card => self.on.card = Some(cell.to_owned()),
            Column::Flags => self.flags.extend(several(cell)?),
            Column::Flag(name) => self.flags.extend(one(name, cell)),
            Column::Remark => {}
        }
        Ok(())
    }

    fn observation(self, name: String) -> Option<Observation> {
        if self.figures == Means::default() {
            return None;
        }
        let load = match (self.concurrency, self.rate) {
            (Some(streams), _) => Load::Closed(streams),
            (None, rate) => Load::Open(rate?),
        };
        Some(Observation {
            requests: self.requests,
            input: self.input,
            output: self.output,
            flags: self.flags,
            version: self.version,
            on: self.on,
            ..Observation::imported(name, load, self.figures)
        })
    }
}

fn one(name: &str, value: &str) -> Option<Flag> {
    match value {
        "default" | "false" => None,
        "true" => Some((name.to_owned(), None)),
        value => Some((name.to_owned(), Some(value.to_owned()))),
    }
}

/// Flags of one cell, with commas between them; what stands in brackets is for people.
fn several(cell: &str) -> Result<Vec<Flag>, &'static str> {
    let plain = cell.split('(').next().unwrap_or_default();
    let each = plain.split(',').map(str::trim);
    let given = each.filter(|text| !matches!(*text, "" | "default" | "defaults"));
    given
        .map(|text| {
            let (name, value) = match text.split_once(['=', ' ']) {
                Some((name, value)) => (name, Some(value.trim().to_owned())),
                None => (text, None),
            };
            let name = flag(name).ok_or("flags as in 'max-num-seqs 32, enforce-eager'")?;
            Ok((name, value))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::given;

    const NOTES: &str = "\
Measured on one H200:

| flags | streams | in / out | req/s | mean TTFT ms | mean TPOT ms |
| --- | --- | --- | --- | --- | --- |
| default (8192 batched tokens, 1024 seqs) | 1 | 512 / 128 | 1.70 | 27 | 4.4 |
| max-num-batched-tokens 512, max-num-seqs 256 | 64 | 512 / 128 | 46.9 | 208 | 8.8 |
";

    #[test]
    fn a_table_out_of_notes_brings_flags_lengths_and_figures() {
        let points = read("notes.md", NOTES).unwrap();
        assert_eq!(points.len(), 2);
        assert_eq!(points[0].flags, []);
        assert_eq!(points[1].load, Load::Closed(64));
        let flags = given(&[("max-num-batched-tokens", "512"), ("max-num-seqs", "256")]);
        assert_eq!(points[1].flags, flags);
        assert_eq!(points[1].output, Some(Lengths::Fixed(128)));
        assert_eq!(points[1].figures.tpot_ms, Some(8.8));
    }

    #[test]
    fn csv_and_json_say_the_same() {
        let csv = "concurrency,input_tokens,output_tokens,max-num-seqs,requests_per_s,ttft_ms,tpot_ms\n\
            64,512,128,32,32.7,1060,5.8\n16,\"normal(512,50)\",128,,20.4,,5.0\n";
        let json = r#"[{"concurrency": 64, "input_tokens": 512, "output_tokens": 128,
            "max-num-seqs": 32, "requests_per_s": 32.7, "ttft_ms": 1060, "tpot_ms": 5.8},
            {"concurrency": 16, "input_tokens": "normal(512,50)", "output_tokens": 128,
            "requests_per_s": 20.4, "ttft_ms": null, "tpot_ms": 5.0}]"#;
        let unnamed = |text: &str| {
            let points = read("points", text).unwrap();
            let unnamed = points.into_iter().map(|point| Observation {
                name: String::new(),
                ..point
            });
            unnamed.collect::<Vec<_>>()
        };
        assert_eq!(unnamed(csv), unnamed(json));
        assert_eq!(unnamed(csv)[0].flags, given(&[("max-num-seqs", "32")]));
        assert_eq!(unnamed(csv)[1].input, Some(Lengths::Normal(512.0, 50.0)));
        assert_eq!(unnamed(csv)[1].figures.ttft_ms, None);
    }

    #[test]
    fn semicolons_tabs_and_chinese_titles_say_the_same() {
        let english =
            "concurrency,input_tokens,output_tokens,requests_per_s,ttft_ms\n8,512,128,20.4,153\n";
        let chinese = "并发数;输入长度;输出长度;QPS;平均首token时延(ms)\n8;512;128;20,4;153\n";
        let tabs = english.replace(',', "\t");
        let points = |text: &str| read("points", text).unwrap();
        assert_eq!(points(english).len(), 1);
        assert_eq!(points(english), points(chinese));
        assert_eq!(points(english), points(&tabs));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        let head = "concurrency,input_tokens,output_tokens,req/s";
        let error = |text: String| read("points.csv", &text).unwrap_err();
        assert!(error(format!("{head}\n8,512,128,fast\n")).contains("line 2 has 'fast'"));
        assert!(error(format!("{head}\n8,512,128,\n")).contains("no figure"));
        let unknown = error(format!("{head},max-num-sequence-things\n8,512,128,3,4\n"));
        assert!(unknown.contains("max-num-sequence-things"), "{unknown}");
    }

    #[test]
    fn tables_of_other_tools_are_left_to_their_reader() {
        let table = "| 并发数 | QPS | 平均延迟(ms) |\n|---|---|---|\n| 8 | 3.8 | 2100 |\n";
        assert_eq!(read("notes.md", table), Ok(Vec::new()));
        assert_eq!(read("run.json", "{\"max_concurrency\": 8}"), Ok(Vec::new()));
    }
}
