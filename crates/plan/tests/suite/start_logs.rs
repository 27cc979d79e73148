//! Start logs of real engines, as people have published them, against the division of memory that
//! the planner computes for the same command. `fixtures/plan/start-logs.csv` says for each where
//! it comes from, what is assumed, and why it is left out where it is.

use inferometer_catalog::engine::{LaunchCommand, Version};
use inferometer_catalog::units::GIB;
use inferometer_core::quantile::{quantile, sort};
use inferometer_plan::device::Card;
use inferometer_plan::memory::{Question, answer};
use inferometer_plan::model::KnownModel;
use std::fmt::Write;

const HOW: &str = "INFEROMETER_UPDATE=1 cargo test --workspace --test suite -- start_logs";

struct StartLog {
    engine: String,
    version: String,
    model: String,
    card: String,
    /// Total memory of the card, where the log states it.
    memory_gib: String,
    cards: String,
    /// As they were given.
    flags: String,
    /// Values that the engine chose, or that the log shows.
    assumed: String,
    figure: f64,
    unit: String,
    source: String,
    /// Whether it was collected once the coefficients were fixed.
    collected_after: bool,
    /// Why it is not predicted; empty where it is.
    left_out: String,
    /// Why the prediction is far off, where that is known.
    why: String,
}

fn read(file: &str) -> String {
    let path = format!("{}/../../{file}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).expect("a file of the repository")
}

fn start_logs() -> Vec<StartLog> {
    let text = read("fixtures/plan/start-logs.csv");
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().expect("a header").split(',').collect();
    let log = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        assert_eq!(fields.len(), names.len(), "{line}");
        let field = |name: &str| {
            let place = names.iter().position(|known| *known == name);
            fields[place.expect("a column")].to_owned()
        };
        StartLog {
            engine: field("engine"),
            version: field("version"),
            model: field("model"),
            card: field("card"),
            memory_gib: field("memory_gib"),
            cards: field("cards"),
            flags: field("flags"),
            assumed: field("assumed"),
            figure: field("figure").parse().expect("a number"),
            unit: field("unit"),
            source: field("source"),
            collected_after: field("collected") == "2",
            left_out: field("left_out"),
            why: field("why"),
        }
    };
    lines.map(log).collect()
}

impl StartLog {
    fn command(&self) -> String {
        let start = match self.engine.as_str() {
            "sglang" => "python -m sglang.launch_server --model-path",
            _ => "vllm serve",
        };
        format!("{start} {} {} {}", self.model, self.flags, self.assumed)
    }

    /// Not used to choose coefficients: every third, by FNV-1a of where it comes from.
    fn is_held_out(&self) -> bool {
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        let hash = self.source.bytes().fold(0xcbf2_9ce4_8422_2325, step);
        hash.is_multiple_of(3)
    }

    fn predicted(&self) -> f64 {
        let card = match self.memory_gib.as_str() {
            "" => self.card.clone(),
            gib => format!("device={},memory={gib}GiB", self.card),
        };
        let card: Card = card.parse().expect("a card");
        let model = KnownModel::find(&self.model).expect("a preset");
        let version: Version = self.version.parse().expect("a version");
        let answer = answer(&Question {
            model: &model,
            device: &card.device,
            cards: self.cards.parse().expect("a number"),
            command: LaunchCommand::parse_line(&self.command()).expect("a command"),
            version: Some(version),
            varied: Vec::new(),
            lengths: None,
        });
        let answer = answer.unwrap_or_else(|error| panic!("{}: {error}", self.command()));
        let figure = match self.unit.as_str() {
            "tokens" => answer.kv_tokens.map(|tokens| tokens as f64),
            "blocks" => answer.blocks.map(|blocks| blocks as f64),
            "requests" => answer.max_concurrency,
            "gib" => Some(answer.kv / GIB),
            other => panic!("{other} is not a unit"),
        };
        // Nothing is left by the prediction.
        figure.unwrap_or(0.0)
    }
}

struct Compared {
    log: StartLog,
    predicted: f64,
    /// Percent, positive where too much is predicted.
    error: f64,
}

fn compared() -> Vec<Compared> {
    let logs = start_logs().into_iter();
    logs.filter(|log| log.left_out.is_empty())
        .map(|log| {
            let predicted = log.predicted();
            let error = (predicted / log.figure - 1.0) * 100.0;
            Compared {
                log,
                predicted,
                error,
            }
        })
        .collect()
}

struct Errors {
    count: usize,
    median: f64,
    ninth: f64,
    signed: f64,
}

fn errors<'a>(rows: impl Iterator<Item = &'a Compared>) -> Errors {
    let mut signed: Vec<f64> = rows.map(|row| row.error).collect();
    let mut sizes: Vec<f64> = signed.iter().map(|error| error.abs()).collect();
    sort(&mut signed);
    sort(&mut sizes);
    let at = |values: &[f64], share| quantile(values, share).expect("there are some");
    Errors {
        count: sizes.len(),
        median: at(&sizes, 0.5),
        ninth: at(&sizes, 0.9),
        signed: at(&signed, 0.5),
    }
}

/// The aim is 3 %; the bounds are what holds, so that accuracy cannot fall unseen.
#[test]
fn most_published_start_logs_are_predicted_to_one_percent() {
    let rows = compared();
    for row in &rows {
        let log = &row.log;
        let half = match (log.collected_after, log.is_held_out()) {
            (true, _) => "after",
            (false, true) => "held ",
            (false, false) => "     ",
        };
        let (error, figure) = (row.error, log.figure);
        let (version, card, unit) = (&log.version, &log.card, &log.unit);
        println!(
            "{error:+7.1} % {half} {figure:>10} {:>12.2} {unit:8} {version:11} {card:12} {}",
            row.predicted, log.model
        );
    }
    assert!(rows.len() >= 40, "{}", rows.len());
    let all = errors(rows.iter());
    assert!(all.median <= 1.2, "median {}", all.median);
    let held = errors(rows.iter().filter(|row| row.log.is_held_out()));
    assert!(
        held.median <= 1.5,
        "median of those held out {}",
        held.median
    );
}

/// Parts of the table, by what coefficients owe to them.
#[derive(Clone, Copy, Debug)]
enum Part {
    Chosen,
    HeldOut,
    After,
}

impl Part {
    fn has(self, log: &StartLog) -> bool {
        match self {
            Part::Chosen => !log.collected_after && !log.is_held_out(),
            Part::HeldOut => !log.collected_after && log.is_held_out(),
            Part::After => log.collected_after,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Part::Chosen => "coefficients chosen by them",
            Part::HeldOut => "held out, read while collecting",
            Part::After => "collected once coefficients were fixed",
        }
    }
}

/// What `docs/accuracy.md` says of the logs.
fn summary() -> String {
    let mut rows = compared();
    let mut text = String::from(
        "| start logs | rows | median \\|error\\| | 90th percentile | median error |\n\
         | :-- | --: | --: | --: | --: |\n",
    );
    let mut line = |name: &str, errors: Errors| {
        let Errors {
            count,
            median,
            ninth,
            signed,
        } = errors;
        writeln!(
            text,
            "| {name} | {count} | {median:.1} % | {ninth:.1} % | {signed:+.1} % |"
        )
        .expect("text grows");
    };
    line("all", errors(rows.iter()));
    for part in [Part::Chosen, Part::HeldOut, Part::After] {
        let of_part = rows.iter().filter(|row| part.has(&row.log));
        line(part.name(), errors(of_part));
    }
    text += "\n| worst | logged | predicted | error | why |\n| :-- | --: | --: | --: | :-- |\n";
    rows.sort_by(|a, b| b.error.abs().total_cmp(&a.error.abs()));
    for row in rows.iter().take(5) {
        let log = &row.log;
        assert!(!log.why.is_empty(), "{} has no reason", log.source);
        let digits = usize::from(log.unit == "gib" || log.unit == "requests") * 2;
        writeln!(
            text,
            "| {} {}, {}, {} × {} | {:.digits$} {} | {:.digits$} | {:+.1} % | {} |",
            log.engine,
            log.version,
            log.model,
            log.cards,
            log.card,
            log.figure,
            log.unit,
            row.predicted,
            row.error,
            log.why
        )
        .expect("text grows");
    }
    text
}

#[test]
fn the_documentation_says_how_far_start_logs_are_off() {
    const FROM: &str = "<!-- start logs -->\n\n";
    const TO: &str = "\n<!-- end of start logs -->";
    let document = read("docs/accuracy.md");
    let begin = document.find(FROM).expect("a mark") + FROM.len();
    let end = document.find(TO).expect("a mark");
    let wanted = summary();
    if std::env::var_os("INFEROMETER_UPDATE").is_some() {
        let path = format!("{}/../../docs/accuracy.md", env!("CARGO_MANIFEST_DIR"));
        let text = format!("{}{wanted}{}", &document[..begin], &document[end..]);
        std::fs::write(path, text).expect("the document is written");
        return;
    }
    assert_eq!(&document[begin..end], wanted, "{HOW}");
}
