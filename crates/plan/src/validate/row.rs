//! A row of a table of measurements: the columns of `silicon_sample.csv` in the wheel
//! `aiconfigurator-core`.

use inferometer_catalog::model::Model;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use thiserror::Error;

/// How a row was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Provenance {
    /// By a published nightly run, whose launch flags and lengths are known.
    #[default]
    Nightly,
    Other,
}

/// What a worker does of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Role {
    #[default]
    All,
    Prefill,
    Decode,
}

/// Whether coefficients may be chosen by a row, by its hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Half {
    Training,
    HeldOut,
}

#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredRow {
    pub id: String,
    /// FNV-1a of what was measured, to two decimals: copies of a row under another id, some of them
    /// rounded, have the same.
    pub hash: u64,
    pub engine: String,
    pub version: String,
    pub model: String,
    pub card: String,
    pub precision: String,
    /// How prompts are computed by workers of their own; absent where they are not.
    pub prefill: Option<PrefillRow>,
    pub provenance: Provenance,
    pub input: u32,
    pub output: u32,
    /// Of the workers that answer.
    pub sizes: Sizes,
    pub concurrency: Option<u32>,
    pub ttft_ms: f64,
    pub tpot_ms: f64,
}

/// How a worker divides the model among cards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    pub tensor: u32,
    /// Data-parallel replicas.
    pub replicas: u32,
    /// Cards that share the routed experts whole; 1 where each is sliced.
    pub experts: u32,
}

impl Sizes {
    pub(super) fn cards(self) -> u32 {
        self.tensor.saturating_mul(self.replicas)
    }
}

/// Workers that compute prompts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrefillRow {
    pub sizes: Sizes,
    /// How many, and how many that answer, where the table says it.
    pub workers: Option<[u32; 2]>,
}

/// Why a file is not such a table.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TableError {
    #[error(
        "the table has no column `{0}`; expected are those of aiconfigurator's silicon_sample.csv"
    )]
    NoColumn(String),
    #[error("line {line}: `{column}` is '{value}', expected a number above 0")]
    Number {
        line: usize,
        column: &'static str,
        value: String,
    },
    #[error("the table has no rows")]
    Empty,
}

impl MeasuredRow {
    pub fn half(&self) -> Half {
        match (self.hash >> 32) & 1 {
            0 => Half::Training,
            _ => Half::HeldOut,
        }
    }

    pub(super) fn preset(&self) -> Option<Model> {
        Model::named(&self.model)
    }

    /// The name by which rows of a model are put together.
    pub fn model_name(&self) -> String {
        self.preset().map_or(self.model.clone(), |model| model.name)
    }

    /// Whether its prompts came over and over to a server that keeps what it has computed: the rows
    /// of the generator's own tool ([`repeated`](super::repeated)), whose lengths are round decimal
    /// numbers, on vLLM, which keeps prompts unless it is told otherwise. SGLang's were told.
    pub(super) fn repeats_prompts(&self) -> bool {
        self.provenance == Provenance::Other
            && self.engine == "vllm"
            && self.input.is_multiple_of(1000)
    }

    /// Output tokens of a request on average.
    pub fn mean_output(&self) -> f64 {
        match self.provenance {
            Provenance::Nightly => f64::from(self.output) * 0.9,
            Provenance::Other => f64::from(self.output),
        }
    }
}

/// The same on every machine and easy to compute elsewhere.
pub(super) fn fnv(text: &str) -> u64 {
    let start = 0xcbf2_9ce4_8422_2325_u64;
    text.bytes().fold(start, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// Whether a text has columns of such a table: what is wrong in it is then said in its terms.
pub fn is_published_table(text: &str) -> bool {
    let head = text.lines().find(|line| !line.starts_with('#'));
    let columns = head.unwrap_or_default().split(',').map(str::trim);
    let known = ["silicon_data_source", "silicon_ttft_ms", "silicon_tpot_ms"];
    columns.into_iter().any(|column| known.contains(&column))
}

/// Reads a table, in which lines that begin with `#` are remarks. Copies of a row, which published
/// tables have under several ids, are left out.
pub fn read_table(text: &str) -> Result<Vec<MeasuredRow>, TableError> {
    let lines = (1usize..).zip(text.lines());
    let mut lines = lines.filter(|(_, line)| !line.starts_with('#'));
    let (_, head) = lines.next().ok_or(TableError::Empty)?;
    let columns: HashMap<&str, usize> = head.split(',').map(str::trim).zip(0..).collect();
    let lines = lines.filter(|(_, line)| !line.trim().is_empty());
    let rows: Vec<MeasuredRow> = lines
        .map(|(line, text)| {
            let cells: Vec<&str> = text.split(',').map(str::trim).collect();
            Cells {
                columns: &columns,
                cells,
                line,
            }
            .row()
        })
        .collect::<Result<_, _>>()?;
    if rows.is_empty() {
        return Err(TableError::Empty);
    }
    // Of copies, the one that says most.
    let (said, unsaid): (Vec<_>, Vec<_>) = rows
        .into_iter()
        .partition(|row| row.prefill.is_none_or(|prefill| prefill.workers.is_some()));
    let mut seen = HashSet::new();
    let load = |row: &MeasuredRow| {
        (
            row.input,
            row.output,
            row.concurrency,
            row.prefill.is_some(),
        )
    };
    let first = |row: &MeasuredRow| seen.insert((row.hash, row.card.clone(), load(row)));
    Ok(said.into_iter().chain(unsaid).filter(first).collect())
}

struct Cells<'a> {
    columns: &'a HashMap<&'a str, usize>,
    cells: Vec<&'a str>,
    line: usize,
}

impl Cells<'_> {
    fn text(&self, column: &str) -> Result<&str, TableError> {
        let place = self.columns.get(column);
        let place = place.ok_or_else(|| TableError::NoColumn(column.to_owned()))?;
        Ok(self.cells.get(*place).copied().unwrap_or(""))
    }

    fn number(&self, column: &'static str) -> Result<f64, TableError> {
        let text = self.text(column)?;
        let number = text.parse::<f64>().ok();
        number
            .filter(|number| number.is_finite() && *number > 0.0)
            .ok_or_else(|| TableError::Number {
                line: self.line,
                column,
                value: text.to_owned(),
            })
    }

    /// A size that may be left out, or be 0 for 1.
    fn size(&self, column: &str) -> Result<u32, TableError> {
        match self.text(column)?.parse::<f64>() {
            Ok(size) if size >= 1.0 => Ok(size as u32),
            _ => Ok(1),
        }
    }

    fn row(&self) -> Result<MeasuredRow, TableError> {
        let source = self.text("silicon_data_source")?;
        let (sizes, prefill) = match self.text("mode")? {
            "disagg" => (self.sizes("decode_")?, Some(self.prefill()?)),
            _ => (self.sizes("")?, None),
        };
        let concurrency = source.split("silicon_concurrency=").nth(1);
        let concurrency = concurrency.and_then(|rest| {
            let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
            digits.parse().ok().filter(|&streams| streams > 0)
        });
        let card = self.text("system")?;
        let [ttft_ms, tpot_ms] = [
            self.number("silicon_ttft_ms")?,
            self.number("silicon_tpot_ms")?,
        ];
        Ok(MeasuredRow {
            id: self.text("id")?.to_owned(),
            hash: fnv(&format!("{ttft_ms:.2} {tpot_ms:.2}")),
            engine: self.text("backend")?.to_owned(),
            version: self.text("backend_version")?.to_owned(),
            model: self.text("model_path")?.to_owned(),
            card: card.strip_suffix("_sxm").unwrap_or(card).to_owned(),
            precision: self.text("precision")?.to_owned(),
            prefill,
            provenance: if is_nightly(source) {
                Provenance::Nightly
            } else {
                Provenance::Other
            },
            input: self.number("isl")? as u32,
            output: self.number("osl")? as u32,
            sizes,
            concurrency,
            ttft_ms,
            tpot_ms,
        })
    }

    fn prefill(&self) -> Result<PrefillRow, TableError> {
        let number = |column| Ok(self.text(column)?.parse::<f64>().ok());
        let counts = [
            number("prefill_num_workers")?,
            number("decode_num_workers")?,
        ];
        let known = counts.map(|count| count.filter(|count| *count >= 1.0));
        Ok(PrefillRow {
            sizes: self.sizes("prefill_")?,
            workers: match known {
                [Some(x), Some(y)] => Some([x as u32, y as u32]),
                _ => None,
            },
        })
    }

    /// Sizes of nightly runs are products: where experts lie whole on cards, `tp_size`,
    /// `moe_ep_size` and `attention_dp_size` count the cards once too often, as the ids beside them
    /// (`tp8_ep8`) show.
    ///
    /// The columns of a worker of one kind begin with it.
    fn sizes(&self, kind: &str) -> Result<Sizes, TableError> {
        let size = |column: &str| self.size(&format!("{kind}{column}"));
        let (tensor, sliced) = (size("tp_size")?, size("moe_tp_size")?);
        let (whole, attention) = (size("moe_ep_size")?, size("attention_dp_size")?);
        let is_product = is_nightly(self.text("silicon_data_source")?);
        let is_square = |cards| {
            is_product && whole > 1 && sliced == whole && sliced.checked_mul(whole) == Some(cards)
        };
        let plain = Sizes {
            tensor,
            replicas: 1,
            experts: 1,
        };
        // The launch script of Kimi on one server slices attention, whatever its rows say.
        let is_one_server = kind.is_empty();
        let slices_attention = is_one_server && self.text("model_path")?.contains("Kimi");
        Ok(if attention > 1 && slices_attention {
            plain
        } else if attention > 1 {
            // A replica per card, and the experts on all of them.
            let cards = if is_square(attention) {
                sliced
            } else {
                attention
            };
            Sizes {
                tensor: 1,
                replicas: cards,
                experts: cards,
            }
        } else if is_square(tensor) {
            Sizes {
                tensor: sliced,
                replicas: 1,
                experts: whole,
            }
        } else {
            Sizes {
                experts: whole,
                ..plain
            }
        })
    }
}

/// Whether a row is of a published nightly run.
fn is_nightly(source: &str) -> bool {
    source.contains("workflow_run_id=")
        || source.starts_with("source_file=20")
        || source.contains("-gap-analysis.csv")
}
