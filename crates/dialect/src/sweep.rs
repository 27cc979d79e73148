//! A dialect over the points of a sweep: each point's block under its name, then the table
//! over all of them where the tool has one. The grid log has no names: it is one log.

use crate::{DialectError, Foreign, Source, evalscope, guidellm, json, text};

/// The points of a sweep in a dialect. Points are added one by one, so that the records of only
/// one are held.
#[derive(Clone, Debug)]
pub struct Points {
    dialect: Foreign,
    blocks: Vec<String>,
    objects: Vec<String>,
    over_all: OverAll,
    refused: Vec<(String, DialectError)>,
}

/// What a tool prints over all points.
#[derive(Clone, Debug)]
enum OverAll {
    Nothing,
    Evalscope(Vec<evalscope::overview::Entry>),
    Guidellm(Vec<guidellm::Numbers>),
}

impl Points {
    pub fn new(dialect: Foreign) -> Self {
        Points {
            dialect,
            blocks: Vec::new(),
            objects: Vec::new(),
            over_all: match dialect {
                Foreign::Evalscope => OverAll::Evalscope(Vec::new()),
                Foreign::Guidellm => OverAll::Guidellm(Vec::new()),
                Foreign::Vllm
                | Foreign::Sglang
                | Foreign::Evalscope2024
                | Foreign::Mindie
                | Foreign::GridLog
                | Foreign::Aiperf => OverAll::Nothing,
            },
            refused: Vec::new(),
        }
    }

    /// The next point, by the name that stands above its block.
    pub fn add(&mut self, name: &str, source: &Source<'_>) {
        if let Err(error) = self.take(name, source) {
            self.refused.push((name.to_owned(), error));
        }
    }

    fn take(&mut self, name: &str, source: &Source<'_>) -> Result<(), DialectError> {
        let block = match self.dialect {
            Foreign::GridLog => text(self.dialect, source)?,
            dialect => format!("{name}\n{}", text(dialect, source)?),
        };
        let object = json(self.dialect, source)?;
        match &mut self.over_all {
            OverAll::Nothing => {}
            OverAll::Evalscope(entries) => entries.push(evalscope::measure(source).entry()),
            OverAll::Guidellm(benchmarks) => benchmarks.push(guidellm::measure(source)?),
        }
        self.blocks.push(block);
        self.objects.push(object);
        Ok(())
    }

    /// Points that the tool has no block for, and why.
    pub fn refused(&self) -> &[(String, DialectError)] {
        &self.refused
    }

    /// Whether no point has a block.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// The blocks in their order, then the table over all.
    pub fn text(self) -> String {
        let between = match self.dialect {
            Foreign::GridLog => "",
            _ => "\n",
        };
        let blocks = self.blocks.join(between);
        match self.over_all {
            OverAll::Nothing => blocks,
            OverAll::Evalscope(entries) => blocks + &evalscope::overview::tables(entries),
            OverAll::Guidellm(benchmarks) => {
                format!("{blocks}\n{}", guidellm::tables(&benchmarks))
            }
        }
    }

    /// The tool's result files, one a line.
    pub fn json_lines(self) -> String {
        self.objects
            .iter()
            .map(|line| format!("{}\n", line.trim_end()))
            .collect()
    }
}
