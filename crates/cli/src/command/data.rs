//! `inferometer data`: a data set at a glance, and its rows in another format.

use crate::exit::Exit;
use crate::options::{DataView, ViewArguments};
use crate::output::{language, print, style};
use crate::progress::Progress;
use crate::session::session;
use crate::stderr::say;
use anyhow::{Context, bail};
use clap::Args;
use inferometer_core::options::{Count, FormatName, Options, RunOptions, WorkOptions};
use inferometer_core::work::{
    DataFormat, DataSource, Filter, PromptLength, PromptSource, TokenizerName, Window,
};
use inferometer_message::ProgressText;
use inferometer_page::text::{self, Paint, TextStyle};
use inferometer_report::data::{Conversion, compose, in_brief};
use inferometer_runner::work;
use inferometer_workload::data::{Surveyor, Taken, TraceWriter, to_custom};
use inferometer_workload::survey::Survey;
use inferometer_workload::tokenizer;
use std::fs::File;
use std::io::{BufWriter, Write, stdout};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

#[derive(Args)]
pub struct DataArguments {
    /// A file (also .gz, .zst), hf://datasets/ORG/NAME/FILE, ms://datasets/ORG/NAME/FILE or
    /// https://…
    #[arg(value_name = "FILE")]
    pub location: String,
    /// Format of the data: sharegpt, openqa, line, custom, instruct, gsm8k, mooncake, burstgpt,
    /// azure, trace, timed-trace, bailian, agentic, otel, litellm, vllm-log, text or conversations
    /// [auto: found from the content]
    #[arg(long, value_name = "FORMAT")]
    pub data_format: Option<FormatName>,
    /// Field that holds the prompt, such as input
    #[arg(long, value_name = "NAME")]
    pub field: Option<String>,
    /// Take rows by a known rule: vllm (as its benchmark filters ShareGPT)
    #[arg(long, value_name = "vllm")]
    pub filter: Option<Filter>,
    /// Only the first N rows
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub limit: Option<Count>,
    /// Take rows in an order drawn from the seed
    #[arg(long)]
    pub shuffle: bool,
    /// Seed of that order
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Shortest prompt to take: 16 (tokens) or 50chars
    #[arg(long, value_name = "LEN", allow_negative_numbers = true)]
    pub min_prompt: Option<PromptLength>,
    /// Longest prompt to take: 1024 (tokens) or 8000chars; of a text: length of its pieces
    #[arg(long, value_name = "LEN", allow_negative_numbers = true)]
    pub max_prompt: Option<PromptLength>,
    /// Bad rows are no failure
    #[arg(long)]
    pub skip_bad: bool,
    /// Counts tokens: a tokenizer.json, a model folder, cl100k, o200k or bytes [cl100k]
    #[arg(long, value_name = "FILE|DIR|cl100k|o200k|bytes")]
    pub tokenizer: Option<TokenizerName>,
    /// Write the chosen rows as JSONL: custom with prompt and output_tokens, or a trace with
    /// lengths, times, sessions and which parts of prompts are the same, without any text
    #[arg(long, value_name = "custom|trace")]
    pub to: Option<ConvertTo>,
    /// Refuse to write what people said: only --to trace is taken
    #[arg(long, requires = "to")]
    pub anonymise: bool,
    /// Tokens of a block of a log's prompts, by which the trace tells what is the same [16]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub block_tokens: Option<Count>,
    /// Where to write instead of standard output: the rows with --to, else the findings
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub view: ViewArguments,
    /// Download through this HTTP proxy [none; the environment's proxies are not used]
    #[arg(long, value_name = "URL")]
    pub proxy: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::EnumString)]
#[strum(serialize_all = "lowercase", parse_err_ty = String, parse_err_fn = no_target)]
pub enum ConvertTo {
    /// `{"prompt", "output_tokens"?}` a line.
    Custom,
    /// Lengths, times and sessions, no text.
    Trace,
}

fn no_target(_: &str) -> String {
    "choose custom or trace".to_owned()
}

/// Time between lines that say how far it is.
const SAY_EVERY: Duration = Duration::from_millis(500);

/// Looks through a data set, shows what it found, and converts if asked.
pub fn run(arguments: &DataArguments) -> anyhow::Result<Exit> {
    let data = data_source(arguments)?;
    let tokenizer = tokenizer::open(
        arguments
            .tokenizer
            .as_ref()
            .unwrap_or(&TokenizerName::Cl100k),
        None,
    )?;
    let lang = language(arguments.view.lang);
    let mut progress = Progress::new(false, lang);
    let path = work::fetch(
        &data.location,
        arguments.proxy.as_deref(),
        &*session(lang)?,
        &mut progress,
    )?;
    let surveyor = Surveyor {
        data: &data,
        path: &path,
        seed: arguments.seed,
        tokenizer: &*tokenizer,
        tokenizer_given: arguments.tokenizer.is_some(),
        all_rows: arguments.to.is_some(),
    };
    if arguments.anonymise && arguments.to != Some(ConvertTo::Trace) {
        bail!("--anonymise: custom rows hold the prompts themselves; give --to trace");
    }
    let convert = |to| Converted::open(to, arguments.output.as_deref(), &path);
    let mut rows = arguments.to.map(convert).transpose()?;
    let mut said = Instant::now();
    let survey = surveyor.run(
        |taken| match &mut rows {
            Some(rows) => rows.take(taken),
            None => Ok(()),
        },
        |seen| {
            if said.elapsed() > SAY_EVERY {
                said = Instant::now();
                let values = [("rows", seen.to_string()), ("file", data.location.clone())];
                progress.attempt(&ProgressText::RowsRead.with(lang, &values));
            }
        },
    );
    progress.end();
    let survey = survey?;
    let conversion = rows.map(|rows| rows.finish(&path)).transpose()?;
    show(arguments, &survey, conversion.as_ref())?;
    let sound = survey.rows.bad == 0 || arguments.skip_bad;
    Ok(Exit::fine_if(sound && survey.rows.usable > 0))
}

/// What the options mean, judged as those of a run are. A text has no rows to choose from.
fn data_source(arguments: &DataArguments) -> anyhow::Result<DataSource> {
    let format = arguments.data_format.and_then(|format| format.0);
    let source = DataSource {
        location: arguments.location.clone(),
        format,
        field: arguments.field.clone(),
        filter: arguments.filter,
        limit: arguments.limit.map(|limit| limit.0),
        shuffle: arguments.shuffle,
        min_prompt: arguments.min_prompt,
        max_prompt: arguments.max_prompt,
        skip_bad: arguments.skip_bad,
        window: Window::default(),
        block_tokens: None,
    };
    if format == Some(DataFormat::Text) {
        let stray = [
            ("--field", source.field.is_some()),
            ("--filter", source.filter.is_some()),
            ("--min-prompt", source.min_prompt.is_some()),
        ];
        if let Some((option, _)) = stray.iter().find(|(_, given)| *given) {
            bail!("{option} chooses rows, and a text has none; leave it out");
        }
        return Ok(source);
    }
    let options = Options {
        run: RunOptions {
            seed: Some(arguments.seed),
            ..RunOptions::default()
        },
        work: WorkOptions {
            data: Some(source.location.clone()),
            data_format: arguments.data_format,
            field: source.field.clone(),
            filter: source.filter,
            limit: arguments.limit,
            shuffle: Some(source.shuffle),
            min_prompt: source.min_prompt,
            max_prompt: source.max_prompt,
            skip_bad: Some(source.skip_bad),
            block_tokens: arguments.block_tokens,
            ..WorkOptions::default()
        },
        ..Options::default()
    };
    match options.resolve()?.work.prompts {
        PromptSource::Data(data) => Ok(data),
        _ => Ok(source),
    }
}

/// Findings go to standard output, unless the rows themselves do.
fn show(
    arguments: &DataArguments,
    survey: &Survey,
    conversion: Option<&Conversion>,
) -> anyhow::Result<()> {
    let lang = language(arguments.view.lang);
    if let (Some(conversion), None) = (conversion, &arguments.output) {
        say(in_brief(survey, conversion, lang));
        return Ok(());
    }
    let file = arguments.output.as_deref().filter(|_| conversion.is_none());
    let style = match file {
        Some(_) => TextStyle {
            paint: Paint::Plain,
            ..style()
        },
        None => style(),
    };
    let shown = match arguments.view.format {
        DataView::Text => text::render(&compose(survey, conversion, lang), style),
        DataView::Json => serde_json::to_string_pretty(survey)? + "\n",
    };
    match file {
        Some(file) => std::fs::write(file, shown).with_context(|| cannot_write(file)),
        None => print(&shown),
    }
}

fn cannot_write(file: &Path) -> String {
    format!(
        "cannot write {}; check its folder and permissions",
        file.display()
    )
}

/// Rows on their way to a file.
struct Converted {
    /// Only all requests of a trace say which belong together.
    trace: Option<TraceWriter>,
    out: Box<dyn Write>,
    file: String,
    written: u64,
    left_out: u64,
}

impl Converted {
    fn open(to: ConvertTo, file: Option<&Path>, data: &Path) -> anyhow::Result<Self> {
        let out: Box<dyn Write> = match file {
            Some(file) => {
                let same = |one: &Path, other: &Path| {
                    Some(one.canonicalize().ok()? == other.canonicalize().ok()?)
                };
                if same(file, data) == Some(true) {
                    bail!(
                        "-o {} is the data set itself; give another file",
                        file.display()
                    );
                }
                Box::new(File::create(file).with_context(|| cannot_write(file))?)
            }
            None => Box::new(stdout().lock()),
        };
        Ok(Converted {
            trace: (to == ConvertTo::Trace).then(TraceWriter::default),
            out: Box::new(BufWriter::with_capacity(1 << 16, out)),
            file: file.map_or("-".to_owned(), |file| file.display().to_string()),
            written: 0,
            left_out: 0,
        })
    }

    fn take(&mut self, taken: Taken<'_>) -> anyhow::Result<()> {
        let Some(trace) = &mut self.trace else {
            return self.write(to_custom(taken.row, taken.output_tokens));
        };
        self.left_out += u64::from(!trace.add(taken.row, taken.line));
        Ok(())
    }

    fn write(&mut self, line: Option<String>) -> anyhow::Result<()> {
        match line {
            Some(line) => {
                self.written += 1;
                writeln!(self.out, "{line}").with_context(|| format!("cannot write {}", self.file))
            }
            None => {
                self.left_out += 1;
                Ok(())
            }
        }
    }

    fn finish(mut self, data: &Path) -> anyhow::Result<Conversion> {
        if let Some(trace) = self.trace.take() {
            for line in trace.lines(data)? {
                self.write(Some(line))?;
            }
            if self.written == 0 {
                bail!(
                    "no row can be written as a trace: none has a time and lengths; give a trace, or a log of otel, litellm or vllm-log"
                );
            }
        }
        (self.out.flush()).with_context(|| format!("cannot write {}", self.file))?;
        if self.written == 0 && self.left_out > 0 {
            bail!(
                "no row can be written as custom: none is a single prompt; a trace holds none at all"
            );
        }
        Ok(Conversion {
            written: self.written,
            left_out: self.left_out,
            file: self.file,
        })
    }
}
