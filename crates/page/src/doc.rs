//! The document: what a report says, without how it looks. One composition, many renderers.

use crate::number;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Doc {
    /// Its parts, in reading order.
    pub sections: Vec<Section>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Section {
    pub heading: Option<String>,
    pub blocks: Vec<Block>,
}

impl Section {
    pub fn headed(heading: &str, blocks: impl IntoIterator<Item = impl Into<Block>>) -> Self {
        Section {
            heading: Some(heading.to_owned()),
            ..Section::plain(blocks)
        }
    }

    pub fn plain(blocks: impl IntoIterator<Item = impl Into<Block>>) -> Self {
        Section {
            heading: None,
            blocks: blocks.into_iter().map(Into::into).collect(),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// The judgement that everything else stands under; one line.
    Verdict(Verdict),
    Paragraph(String),
    Pairs(Vec<Pair>),
    Table(Table),
    /// Remarks, each with a tag and a follow-up: doubts, failures.
    Notes(Vec<Note>),
    Command(Command),
    /// How often which values come.
    Histogram(Vec<Bar>),
    /// Short texts of somebody else, one a line, which renderers may shorten.
    Quotes(Vec<String>),
}

impl From<Verdict> for Block {
    fn from(verdict: Verdict) -> Self {
        Block::Verdict(verdict)
    }
}

impl From<Vec<Pair>> for Block {
    fn from(pairs: Vec<Pair>) -> Self {
        Block::Pairs(pairs)
    }
}

impl From<Table> for Block {
    fn from(table: Table) -> Self {
        Block::Table(table)
    }
}

impl From<Vec<Note>> for Block {
    fn from(notes: Vec<Note>) -> Self {
        Block::Notes(notes)
    }
}

/// How something is meant, for renderers that have colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    #[default]
    Plain,
    Good,
    Caution,
    Bad,
}

/// One word and its reason.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// `VALID` or `INVALID`.
    pub word: String,
    pub tone: Tone,
    /// Why, in one line; a narrow page may shorten it.
    pub reason: String,
    /// What else there is; kept on a narrow page. May be empty.
    pub rest: String,
}

impl Verdict {
    pub fn new(word: &str, tone: Tone, reason: impl Into<String>) -> Self {
        Verdict {
            word: word.to_owned(),
            tone,
            reason: reason.into(),
            rest: String::new(),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    pub key: String,
    pub value: String,
}

impl Pair {
    pub fn new(key: &str, value: impl Into<String>) -> Self {
        Pair {
            key: key.to_owned(),
            value: value.into(),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    /// A word or number that sorts it.
    pub tag: String,
    pub tone: Tone,
    /// What it is about: a doubt's code, a failure's class.
    pub subject: String,
    /// What is to be said; may be empty.
    pub text: String,
    pub follow: Option<Follow>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Follow {
    Remedy(String),
    /// Words of somebody else, which renderers may shorten.
    Quote(String),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Command {
    pub caption: String,
    /// Its words, quoted for a shell; a line may be broken only between them.
    pub words: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bar {
    pub from: u64,
    pub to: u64,
    pub count: u64,
}

impl Bar {
    /// The values of each bar in words: a number where every bar is of one value.
    pub(crate) fn ranges(bars: &[Bar]) -> Vec<String> {
        let single = bars.iter().all(|bar| bar.from == bar.to);
        let range = |bar: &Bar| {
            let [from, to] = [bar.from, bar.to].map(number::count);
            if single {
                from
            } else {
                format!("{from} – {to}")
            }
        };
        bars.iter().map(range).collect()
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    pub columns: Vec<Column>,
    /// Rows; each has as many cells as there are columns.
    pub rows: Vec<Vec<Cell>>,
    pub footnotes: Vec<String>,
}

impl Table {
    pub fn new(columns: Vec<Column>, rows: impl IntoIterator<Item = Vec<Cell>>) -> Self {
        Table {
            columns,
            rows: rows.into_iter().collect(),
            footnotes: Vec::new(),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its title; may be empty.
    pub title: String,
    pub align: Align,
    /// What may happen to it on a narrow page.
    pub fit: Fit,
    /// Where it stands if the table is broken into several.
    pub place: Place,
}

impl Column {
    pub fn left(title: &str) -> Self {
        Column {
            title: title.to_owned(),
            align: Align::Left,
            fit: Fit::Whole,
            place: Place::Once,
        }
    }

    /// A column of numbers that tell the rows apart.
    pub fn key(title: &str) -> Self {
        Column {
            place: Place::Everywhere,
            ..Column::right(title)
        }
    }

    /// A column of marks without which the numbers of a row must not be read.
    pub fn mark() -> Self {
        Column {
            place: Place::Everywhere,
            ..Column::left("")
        }
    }

    pub fn right(title: &str) -> Self {
        Column {
            align: Align::Right,
            ..Column::left(title)
        }
    }

    /// A column of texts that may be broken over lines.
    pub fn wrapped(title: &str) -> Self {
        Column {
            fit: Fit::Wrap,
            ..Column::left(title)
        }
    }
}

/// Where a column stands if a table is broken into several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In one of them; names at the left in all.
    Once,
    Everywhere,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    Left,
    Right,
}

/// What may happen to a column on a narrow page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// It stays as it is.
    Whole,
    /// Its cells may be broken over lines.
    Wrap,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Text; an empty one means that nothing belongs here.
    Text(String),
    /// Text that is good or bad news.
    Toned(String, Tone),
    Number(Number),
    /// From one number to another.
    Range(Number, Number),
    /// A value that should be here and is not known: `n/a`.
    Absent,
}

impl Cell {
    pub fn text(text: impl Into<String>) -> Self {
        Cell::Text(text.into())
    }

    /// A cell to which nothing belongs.
    pub fn blank() -> Self {
        Cell::Text(String::new())
    }

    pub fn number(value: Option<f64>, unit: Unit, decimals: usize) -> Self {
        match value.filter(|value| value.is_finite()) {
            Some(value) => Cell::Number(Number {
                value,
                unit,
                decimals,
                support: Support::Enough,
            }),
            None => Cell::Absent,
        }
    }

    /// A number in about three digits, whose unit the titles say.
    pub fn brief(value: Option<f64>) -> Self {
        Cell::rate(value, Unit::Count)
    }

    /// A number in about three digits, with its unit.
    pub fn rate(value: Option<f64>, unit: Unit) -> Self {
        Cell::number(value, unit, value.map_or(0, number::decimals))
    }

    /// Words of a value, or that it is not known.
    pub fn known(text: Option<impl Into<String>>) -> Self {
        text.map_or(Cell::Absent, Cell::text)
    }

    pub fn count(value: u64) -> Self {
        Cell::number(Some(value as f64), Unit::Count, 0)
    }

    /// Marks a number for which there are too few samples.
    pub fn starred(self) -> Self {
        match self {
            Cell::Number(number) => Cell::Number(Number {
                support: Support::TooFew,
                ..number
            }),
            cell => cell,
        }
    }

    pub fn is_starred(&self) -> bool {
        matches!(self, Cell::Number(number) if number.support == Support::TooFew)
    }

    /// An interval; blank where there is none.
    pub fn range(interval: Option<[f64; 2]>, unit: Unit, decimals: usize) -> Self {
        let number = |value| Cell::number(Some(value), unit, decimals);
        match interval.map(|ends| ends.map(number)) {
            Some([Cell::Number(low), Cell::Number(high)]) => Cell::Range(low, high),
            _ => Cell::blank(),
        }
    }

    /// The cell in words, without its unit: tables say the unit in a column or a title.
    pub fn shown(&self) -> String {
        match self {
            Cell::Text(text) | Cell::Toned(text, _) => text.clone(),
            Cell::Number(number) => number.shown(),
            Cell::Range(low, high) => format!("{} – {}", low.shown(), high.shown()),
            Cell::Absent => number::ABSENT.to_owned(),
        }
    }
}

/// A number that knows what it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number {
    /// Its value, in `unit`.
    pub value: f64,
    pub unit: Unit,
    /// Digits after the point that are worth printing.
    pub decimals: usize,
    /// Whether the sample can bear it.
    pub support: Support,
}

impl Number {
    fn shown(&self) -> String {
        let mark = match self.support {
            Support::Enough => "",
            Support::TooFew => "*",
        };
        format!("{}{mark}", number::grouped(self.value, self.decimals))
    }
}

/// Whether a sample is large enough for what is claimed of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    Enough,
    /// It is not; printed with `*`.
    TooFew,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Count,
    Milliseconds,
    Seconds,
    RequestsPerSecond,
    TokensPerSecond,
    ItemsPerSecond,
    /// Of sound, for each second of the clock.
    AudioSecondsPerSecond,
}

impl Unit {
    /// Its sign, the same in every language.
    pub fn sign(self) -> &'static str {
        match self {
            Unit::Count => "",
            Unit::Milliseconds => "ms",
            Unit::Seconds => "s",
            Unit::RequestsPerSecond => "req/s",
            Unit::TokensPerSecond => "tok/s",
            Unit::ItemsPerSecond => "items/s",
            Unit::AudioSecondsPerSecond => "s/s",
        }
    }
}
