//! The binary `inferometer`: parses, runs one command, and turns its end into an exit code.

// Comments of options are their help texts, where `[…]` is a default and no link.
#![allow(rustdoc::broken_intra_doc_links)]
// These panic where nobody reads any longer; `output::print` and `say` do not.
#![warn(clippy::print_stdout, clippy::print_stderr)]

mod arguments;
mod chinese;
mod command;
mod conditions;
mod exit;
mod folder;
#[cfg(test)]
mod generated;
mod language;
mod live;
mod options;
mod otlp;
mod output;
mod parts;
mod pictures;
mod progress;
mod ranks;
mod registry;
mod session;
mod sides;
mod signals;
mod stderr;
mod stores;
mod typed_words;

use arguments::{Cli, Command};
use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches};
use exit::Exit;
use inferometer_engine::{SUPERVISOR_WORD, supervise};
use inferometer_guard::is_guarded;
use inferometer_runner::with_causes;
use inferometer_text::hostile::printable;
use inferometer_text::secret::{REDACTED, without_credentials};
use inferometer_text::{Lang, texts};
use std::process::ExitCode;
use stderr::say;

/// What is told where the system gives no further thread, which libraries can only panic about.
const NO_THREAD: &str = "no thread could be started: the limit on processes or memory is reached; \
    raise it (ulimit -u, ulimit -v, the container's pids limit) or ask for fewer --workers; what was \
    measured is kept";

/// Letters of an error, whatever name or text of others it repeats.
const LONGEST_ERROR: usize = 10_000;

fn main() -> ExitCode {
    signals::survive_file_limit();
    // What is caught is told as an error; its trace would only frighten.
    let default = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let said = panic.payload_as_str().unwrap_or_default();
        let of_thread = ["spawn", "the system gives"]
            .iter()
            .any(|word| said.contains(word));
        if of_thread && said.contains("thread") {
            inferometer_tui::give_back();
            say(format_args!("error: {NO_THREAD}"));
            std::process::exit(2);
        }
        if !is_guarded() {
            inferometer_tui::give_back();
            default(panic);
        }
    }));
    if std::env::args_os()
        .nth(1)
        .is_some_and(|word| word == SUPERVISOR_WORD)
    {
        return match supervise(std::io::stdin(), std::io::stdout()) {
            Ok(()) => Exit::Fine.into(),
            Err(_) => Exit::Error.into(),
        };
    }
    let cli = match parse() {
        Ok(cli) => cli,
        Err(code) => return code,
    };
    let ended = match cli.command {
        Command::Run(arguments) => command::run::run(*arguments, command::serve::follow),
        Command::Sweep(arguments) => command::sweep::run(*arguments, command::serve::follow),
        Command::Capacity(arguments) => command::capacity::run(*arguments, command::serve::follow),
        Command::Tune(arguments) => command::tune::run(*arguments, command::serve::follow),
        Command::Report(arguments) => command::report::run(&arguments),
        Command::Runs(arguments) => command::runs::run(&arguments),
        Command::Verify(arguments) => command::verify::run(&arguments),
        Command::Upload(arguments) => command::upload::run(&arguments),
        Command::Compare(arguments) => command::compare::run(&arguments),
        Command::History(arguments) => command::history::run(&arguments),
        Command::Watch(arguments) => command::watch::run(*arguments),
        Command::Serve(arguments) => command::serve::run(&arguments, Cli::command()),
        Command::Import(arguments) => command::import::run(&arguments),
        Command::From(arguments) => command::from::run(&arguments),
        Command::Data(arguments) => command::data::run(&arguments),
        Command::Plan(arguments) => command::plan::run(&arguments),
        Command::Sim(arguments) => command::sim::run(*arguments),
        Command::Doctor(arguments) => command::doctor::run(*arguments),
        Command::Schema(arguments) => command::schema::run(&arguments),
        Command::Manifest(arguments) => command::manifest::run(&arguments, Cli::command()),
        Command::Manual(arguments) => command::manual::run(&arguments, Cli::command()),
        Command::Completions(arguments) => command::completions::run(&arguments, Cli::command()),
        Command::NullServer(arguments) => command::null_server::run(arguments),
    };
    folder::remove_empty();
    match ended {
        Ok(exit) => exit.into(),
        // The reader of our output left; that is not a failure of the measurement.
        Err(error) if is_broken_pipe(&error) => Exit::Fine.into(),
        Err(error) => {
            let said = match language::spoken() {
                Lang::En => format!("error: {}", with_causes(error.as_ref())),
                Lang::Zh => format!("错误：{}", chinese::errors::with_causes(&error)),
            };
            // Errors name what was given, passwords of URLs and signs for terminals included.
            let said = without_credentials(&one_line(&said));
            say(printable(&said, LONGEST_ERROR));
            Exit::Error.into()
        }
    }
}

/// Parses the command line and the environment. Help and version are printed here; an error is
/// printed as one line with its remedy.
fn parse() -> Result<Cli, ExitCode> {
    let lang = language::spoken();
    // Help and errors have a language also where a command has no option for it.
    let lang_option = clap::Arg::new("lang").long("lang").global(true).hide(true);
    let command = Cli::command().arg(lang_option.value_parser(options::lang));
    let command = arguments::with_short_help(arguments::with_environment(command));
    let command = match lang {
        Lang::En => command,
        Lang::Zh => chinese::help::laid_over(command),
    };
    let parsed = command
        .try_get_matches_from(language::without_lang_of_help(std::env::args_os()))
        .and_then(|matches| Cli::from_arg_matches(&matches));
    parsed.map_err(|error| {
        let help = |text: &str| match lang {
            Lang::En => text.to_owned(),
            Lang::Zh => chinese::help::shown(text),
        };
        let text = error.render().to_string();
        match (error.kind(), lang) {
            (ErrorKind::DisplayHelp, Lang::Zh) => {
                let _ = output::print(&help(&text));
                return Exit::Fine.into();
            }
            (ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand, _) => {
                say(help(&text).trim_end());
                return Exit::Error.into();
            }
            _ if !error.use_stderr() => {
                let _ = error.print();
                return Exit::Fine.into();
            }
            _ => {}
        }
        let remedy = sweep_instead(&error, lang);
        let remedy = remedy.unwrap_or_else(|| ParseText::SeeHelp.text(lang).to_owned());
        let chinese = chinese::errors::of_command_line(&error).filter(|_| lang == Lang::Zh);
        let said = match chinese {
            Some(said) => format!("错误：{}；{remedy}", one_line(&said)),
            None => format!("{}; {remedy}", said(&text)),
        };
        let said = match wrong_header(&error) {
            Some(value) => said.replace(&value, REDACTED),
            None => said,
        };
        say(printable(&without_credentials(&said), LONGEST_ERROR));
        Exit::Error.into()
    })
}

/// The value of a header that cannot be parsed, which may be a key all the same.
fn wrong_header(error: &clap::Error) -> Option<String> {
    let of = |kind| match error.get(kind) {
        Some(clap::error::ContextValue::String(text)) => Some(one_line(text)),
        _ => None,
    };
    let option = of(clap::error::ContextKind::InvalidArg)?;
    let value = of(clap::error::ContextKind::InvalidValue)?;
    (option.starts_with("--header") && !value.is_empty()).then_some(value)
}

/// What clap says of an error in one line, without its usage.
fn said(text: &str) -> String {
    // What follows `--` is an engine's command line, so that advice would mislead.
    let lines = text.lines().filter(|line| !line.contains("tip: to pass '"));
    let text = lines
        .collect::<Vec<_>>()
        .join("\n")
        .replace("\n\n  tip: ", "; ");
    let end = text
        .find("\n\nUsage:")
        .or_else(|| text.find("\n\nFor more"));
    one_line(&text[..end.unwrap_or(text.len())])
}

texts! {
    /// What to do about a command line that cannot be parsed.
    pub enum ParseText {
        SeeHelp => "see inferometer help", "用法见 inferometer help";
        SweepInPairs => "several values are a sweep, and --zip gives each load its own number of requests: inferometer sweep --zip {option} {value}", "多个取值属于扫描，加 --zip 可让每个负载各用一个请求数：inferometer sweep --zip {option} {value}";
        Sweep => "several values are a sweep: inferometer sweep {option} {value}", "多个取值属于扫描：inferometer sweep {option} {value}";
    }
}

/// A list where one value is taken is what `sweep` is for.
fn sweep_instead(error: &clap::Error, lang: Lang) -> Option<String> {
    let of = |kind| match error.get(kind) {
        Some(clap::error::ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let value = of(clap::error::ContextKind::InvalidValue)?;
    let option = of(clap::error::ContextKind::InvalidArg)?
        .split(' ')
        .next()?;
    let mut words = std::env::args();
    let is_run = words.nth(1).is_some_and(|word| word == "run");
    let is_list = value.contains(',') || value.contains("..");
    let values = [("option", option.to_owned()), ("value", value.to_owned())];
    let text = if lists_of_loads_and_requests(&Vec::from_iter(words)) {
        ParseText::SweepInPairs
    } else {
        ParseText::Sweep
    };
    (is_run && is_list && option.starts_with("--")).then(|| text.with(lang, &values))
}

/// Whether both a load and the number of requests are given as lists.
fn lists_of_loads_and_requests(words: &[String]) -> bool {
    let is_list = |name: &str| {
        let mut pairs = words.windows(2);
        let apart = pairs.any(|pair| pair[0] == name && pair[1].contains(','));
        let begin = format!("{name}=");
        apart
            || words
                .iter()
                .any(|it| it.starts_with(&begin) && it.contains(','))
    };
    is_list("--requests") && (is_list("--concurrency") || is_list("--rate"))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
        .any(|cause| cause.kind() == std::io::ErrorKind::BrokenPipe)
}
