//! How results are shown.

use clap::Args;
use inferometer_core::summary::SummaryColumns;
use inferometer_dialect::Dialect;
use inferometer_page::figure::theme::Theme;
use inferometer_text::Lang;
use std::path::PathBuf;

/// How results are shown.
#[derive(Args, Clone)]
#[command(next_help_heading = "Output")]
pub struct OutputOptions {
    /// Format, text unless given (repeatable); md, csv, html and pictures go into the run directory unless -o says otherwise
    #[arg(long, value_name = "text|md|json|csv|html|svg|png")]
    pub format: Vec<Format>,
    /// Whose definitions to use: ours, vllm, sglang, evalscope-2024, evalscope, mindie, grid-log,
    /// aiperf or guidellm
    #[arg(long, value_name = "TOOL", default_value = "ours", hide_default_value = true, value_parser = dialect)]
    pub dialect: Dialect,
    /// Language of the report [from the locale]
    #[arg(long, value_name = "en|zh", value_parser = lang)]
    pub lang: Option<Lang>,
    /// Where the report goes; the format is that of the name unless given; pictures, of which
    /// there may be several, into a folder
    #[arg(
        short = 'o',
        long = "report-to",
        alias = "output",
        value_name = "FILE|DIR"
    )]
    pub to: Option<PathBuf>,
    /// Colours of svg and png [light]
    #[arg(long, value_name = "light|dark", value_parser = theme)]
    pub theme: Option<Theme>,
    /// Show each metric's definition beside it
    #[arg(long)]
    pub definitions: bool,
    /// Set by commands whose tables have columns to choose.
    #[arg(skip)]
    pub columns: Option<SummaryColumns>,
}

impl OutputOptions {
    /// The formats that were asked for, by name or by the name of the file.
    pub fn formats(&self) -> Vec<Format> {
        if !self.format.is_empty() {
            return self.format.clone();
        }
        let ending = self.to.as_ref().and_then(|to| to.extension()?.to_str());
        let named = ending.and_then(|ending| ending.parse().ok());
        vec![named.unwrap_or(Format::Text)]
    }
}

/// The options of commands whose results are not a table.
pub fn no_table(option: clap::Arg) -> clap::Arg {
    if option.get_id() != "format" {
        return option;
    }
    option
        .value_name("text|md|json|html|svg|png")
        .help("Format, text unless given (repeatable); md, html and pictures go into the folder of the results unless -o says otherwise")
}

/// The same where they have our own definitions only, too.
pub fn no_table_of_ours(option: clap::Arg) -> clap::Arg {
    let is_unused = ["dialect", "definitions"].contains(&option.get_id().as_str());
    no_table(option).hide(is_unused)
}

/// Which figures tables show.
#[derive(Args, Clone, Debug)]
pub struct ColumnOptions {
    /// Columns of the tables and of CSV, such as ttft.mean,itl.p99,per_user,ok_rate; names and keys
    /// of summary.json, all listed in the manual [by what was varied]
    #[arg(long, value_name = "NAME,…", help_heading = "Output")]
    pub columns: Option<SummaryColumns>,
}

/// How tables of results that are not ours to measure are shown: imports and comparisons.
#[derive(clap::Args, Clone, Debug)]
pub struct TableOutput {
    /// Format, text unless given (repeatable); pages and pictures go into a folder unless -o says
    /// otherwise; junit and github are of compare and history
    #[arg(long, value_name = "text|md|json|csv|html|svg|png|junit|github")]
    pub format: Vec<Format>,
    /// Language of the report [from the locale]
    #[arg(long, value_name = "en|zh", value_parser = lang)]
    pub lang: Option<Lang>,
    /// Where the report goes; the format is that of the name unless given; pictures, of which
    /// there may be several, into a folder
    #[arg(
        short = 'o',
        long = "report-to",
        alias = "output",
        value_name = "FILE|DIR"
    )]
    pub to: Option<PathBuf>,
    /// Colours of svg and png [light]
    #[arg(long, value_name = "light|dark", value_parser = theme)]
    pub theme: Option<Theme>,
}

impl TableOutput {
    /// The same as options of a report. Without a page or picture among them, tables go to
    /// standard output.
    pub fn options(&self) -> OutputOptions {
        let drawn = |format: &Format| matches!(format, Format::Html | Format::Svg | Format::Png);
        let stdout = || (!self.format.iter().any(drawn)).then(|| PathBuf::from("-"));
        OutputOptions {
            format: self.format.clone(),
            dialect: Dialect::Ours,
            lang: self.lang,
            to: self.to.clone().or_else(stdout),
            theme: self.theme,
            definitions: false,
            columns: None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::EnumString)]
#[strum(serialize_all = "lowercase", parse_err_ty = String, parse_err_fn = no_format)]
pub enum Format {
    Text,
    Md,
    Json,
    Csv,
    /// A page that opens anywhere.
    Html,
    Svg,
    Png,
    /// Checks that passed or failed, for CI services.
    Junit,
    /// The same as annotations of a GitHub workflow, and a summary.
    Github,
}

/// What commands answer whose results pass or fail as a whole.
pub const NO_CHECKS: &str = "--format junit and github are for compare and history";

fn no_format(_: &str) -> String {
    "choose text, md, json, csv, html, svg or png; compare and history make junit and github, too"
        .to_owned()
}

fn dialect(text: &str) -> Result<Dialect, String> {
    Dialect::from_word(text).ok_or_else(|| {
        let words: Vec<&str> = Dialect::words().collect();
        format!("choose one of {}", words.join(", "))
    })
}

pub fn theme(text: &str) -> Result<Theme, String> {
    match text {
        "light" => Ok(Theme::Light),
        "dark" => Ok(Theme::Dark),
        _ => Err("choose light or dark".into()),
    }
}

pub fn lang(text: &str) -> Result<Lang, String> {
    text.parse().map_err(|_| "choose en or zh".into())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::EnumString)]
#[strum(serialize_all = "lowercase", parse_err_ty = String, parse_err_fn = no_view)]
pub enum DataView {
    Text,
    Json,
}

fn no_view(_: &str) -> String {
    "choose text or json".to_owned()
}

/// How answers are shown.
#[derive(Args)]
pub struct ViewArguments {
    /// text or json
    #[arg(long, value_name = "text|json", default_value = "text")]
    pub format: DataView,
    /// Language: en or zh [from the locale]
    #[arg(long, value_name = "en|zh", value_parser = lang)]
    pub lang: Option<Lang>,
}
