//! What every setting of a grid of launch flags would bring, from the simulated engine in
//! virtual time: what a searcher is tried on without starting anything.

use inferometer_campaign::search::{Ask, Observation, Outcome, Searcher};
use inferometer_campaign::space::{
    Dimension as Searched, Domain, FlagRules, Point, Rules, Space, Spacing, Value,
};
use inferometer_catalog::device::Device;
use inferometer_catalog::engine::{DeviceClass, DeviceKind, LaunchCommand, ModelLimits};
use inferometer_catalog::memory::GIB;
use inferometer_catalog::model::Model;
use inferometer_catalog::timing::Timing;
use inferometer_core::seed::{Dimension, rng};
use inferometer_sim::engine::{
    Engine, Request,
    virtual_time::{Keep, Run, closed_loop},
};
use inferometer_sim::launch::{Host, Launch, LaunchError};
use rand::RngExt;
use serde::{Deserialize, Serialize};

/// A flag and the values of its grid.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Flag {
    pub name: String,
    pub values: Vec<String>,
    /// Numbers have an order; words and switches do not.
    pub ordered: bool,
}

/// What one setting brings.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cell {
    /// The engine refuses the flags: a rule foresees it.
    Refused,
    /// It starts and dies: only a trial shows it.
    Crashed,
    /// Output tokens a second, and the 99th percentiles in milliseconds.
    Served {
        tokens_per_s: f64,
        ttft_ms: f64,
        tpot_ms: f64,
    },
}

/// An engine and the load on it.
#[derive(Clone, Debug)]
pub struct Ground {
    pub model: &'static str,
    pub device: &'static str,
    pub utilizations: &'static [&'static str],
    pub streams: usize,
    pub requests: u64,
    /// Mean tokens of prompt and answer, and of the beginning that prompts of a group share.
    pub input: u32,
    pub output: u32,
    pub shared: u32,
    /// Step times other than the device's own.
    pub timing: Option<Timing>,
}

/// A grid of flags with the cell of every setting; the last flag changes fastest.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Landscape {
    pub name: String,
    pub command: String,
    pub device: String,
    /// Limits of TTFT and TPOT (99th percentiles) that few settings keep, in milliseconds.
    pub limits: [f64; 2],
    pub flags: Vec<Flag>,
    pub cells: Vec<Cell>,
}

/// Longest prompt and answer together; below it a step without chunked prefill is refused.
const MODEL_LEN: u32 = 4096;
const GROUPS: u64 = 8;

/// Three models on two devices, each shared with others, so that memory for the KV cache is short.
pub const GROUNDS: [Ground; 6] = [
    ground(
        "qwen2.5-7b",
        "l20",
        &["0.36", "0.39", "0.42"],
        64,
        [600, 160, 256],
    ),
    ground(
        "qwen2.5-7b",
        "a100-40g",
        &["0.4", "0.47", "0.54"],
        128,
        [1200, 96, 512],
    ),
    ground(
        "llama-3.1-8b",
        "l20",
        &["0.38", "0.43", "0.48"],
        64,
        [800, 128, 256],
    ),
    ground(
        "llama-3.1-8b",
        "a100-40g",
        &["0.42", "0.52", "0.62"],
        160,
        [400, 256, 128],
    ),
    ground(
        "qwen2.5-14b",
        "l20",
        &["0.66", "0.73", "0.8"],
        48,
        [1000, 128, 384],
    ),
    ground(
        "qwen2.5-14b",
        "a100-40g",
        &["0.75", "0.84", "0.93"],
        96,
        [500, 200, 128],
    ),
];

const fn ground(
    model: &'static str,
    device: &'static str,
    utilizations: &'static [&'static str],
    streams: usize,
    [input, output, shared]: [u32; 3],
) -> Ground {
    Ground {
        model,
        device,
        utilizations,
        streams,
        requests: 4 * streams as u64,
        input,
        output,
        shared,
        timing: None,
    }
}

impl Ground {
    /// The command that every setting is added to.
    pub fn command(&self) -> String {
        format!("vllm serve {} --max-model-len {MODEL_LEN}", self.model)
    }

    /// The full grid.
    pub fn flags(&self) -> Vec<Flag> {
        let flag = |name: &str, values: &[&str], ordered| Flag {
            name: name.to_owned(),
            values: values.iter().map(|&value| value.to_owned()).collect(),
            ordered,
        };
        let switch = &["false", "true"];
        let seqs = &["8", "16", "32", "64", "128", "256", "512", "1024"];
        let tokens = &["128", "256", "512", "1024", "2048", "4096", "8192", "16384"];
        vec![
            flag("max-num-seqs", seqs, true),
            flag("max-num-batched-tokens", tokens, true),
            flag("gpu-memory-utilization", self.utilizations, true),
            flag("kv-cache-dtype", &["auto", "fp8"], false),
            flag("enable-prefix-caching", switch, false),
            flag("enable-chunked-prefill", switch, false),
            flag("enforce-eager", switch, false),
        ]
    }

    /// Every setting of the grid, run.
    pub fn landscape(&self, flags: Vec<Flag>) -> Landscape {
        let count: usize = flags.iter().map(|flag| flag.values.len()).product();
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let mut cells = vec![Cell::Refused; count];
        // Every thread takes every n-th cell: slow cells lie together.
        let done: Vec<Vec<(usize, Cell)>> = std::thread::scope(|scope| {
            let flags = &flags;
            let workers: Vec<_> = (0..threads)
                .map(|thread| {
                    scope.spawn(move || {
                        (thread..count)
                            .step_by(threads)
                            .map(|at| (at, self.cell(flags, &digits(flags, at))))
                            .collect()
                    })
                })
                .collect();
            let join = |worker: std::thread::ScopedJoinHandle<'_, _>| worker.join();
            workers
                .into_iter()
                .map(|w| join(w).expect("no cell panics"))
                .collect()
        });
        for (at, cell) in done.into_iter().flatten() {
            cells[at] = cell;
        }
        Landscape {
            name: format!("{} {}", self.model, self.device),
            command: self.command(),
            device: self.device.to_owned(),
            limits: tight(&cells),
            flags,
            cells,
        }
    }

    fn cell(&self, flags: &[Flag], digits: &[usize]) -> Cell {
        let mut words: Vec<String> = self.command().split(' ').map(str::to_owned).collect();
        for (flag, &digit) in flags.iter().zip(digits) {
            match (flag.name.as_str(), flag.values[digit].as_str()) {
                ("enforce-eager", "false") => {}
                (name, "false") => words.push(format!("--no-{name}")),
                (name, "true") => words.push(format!("--{name}")),
                (name, value) => words.extend([format!("--{name}"), value.to_owned()]),
            }
        }
        let device = Device::named(self.device).expect("a preset");
        let host = Host {
            device: device.clone(),
            cards: 1,
            version: None,
            timing: self.timing.clone(),
            stamp: String::new(),
        };
        match Launch::of_command(&words, &host) {
            Ok(launch) => {
                let block = launch.config.block_size;
                let mut engine = Engine::new(launch.config, 1);
                let requests = self.requests(block);
                let run = closed_loop(&mut engine, requests, self.streams, Keep::default());
                figures(&run, self.streams)
            }
            Err(LaunchError::Refused(_)) => Cell::Refused,
            Err(LaunchError::Memory(..)) => Cell::Crashed,
            Err(other) => unreachable!("{other}"),
        }
    }

    /// The same requests for every setting.
    fn requests(&self, block: u32) -> Vec<Request> {
        let mut random = rng(7, Dimension::InputLength, 0);
        let mut around = |mean: u32| random.random_range(mean / 2..=mean + mean / 2);
        (0..self.requests)
            .map(|id| {
                let own = around(self.input - self.shared).max(1);
                let mut request = Request::new(id, self.shared + own, around(self.output));
                let shared = u64::from(self.shared / block);
                let all = u64::from(request.prompt_tokens / block);
                // A hash names a block: those of the group first, then the request's own.
                let group = (id % GROUPS + 1) << 40;
                request.hashes = (0..all)
                    .map(|at| {
                        if at < shared {
                            group + at
                        } else {
                            (id + 1) << 16 | at
                        }
                    })
                    .collect();
                request
            })
            .collect()
    }
}

/// The medians over all settings that serve: few keep both.
fn tight(cells: &[Cell]) -> [f64; 2] {
    let served = cells.iter().filter_map(|cell| match cell {
        Cell::Served {
            ttft_ms, tpot_ms, ..
        } => Some((*ttft_ms, *tpot_ms)),
        Cell::Refused | Cell::Crashed => None,
    });
    let (ttfts, tpots) = served.unzip();
    [median(ttfts), median(tpots)]
}

/// The first wave comes all at once, as no users do: its latencies are left out.
fn figures(run: &Run, first_wave: usize) -> Cell {
    if run.served.iter().any(|served| served.finished.is_none()) {
        return Cell::Crashed;
    }
    let p99 = |figure: fn(&inferometer_sim::engine::virtual_time::Served) -> Option<f64>| {
        let mut values: Vec<f64> = run.served[first_wave..].iter().filter_map(figure).collect();
        values.sort_unstable_by(f64::total_cmp);
        values[(values.len() * 99).div_ceil(100).saturating_sub(1)]
    };
    let short = |value: f64| (value * 100.0).round() / 100.0;
    Cell::Served {
        tokens_per_s: short(run.tokens_per_second()),
        ttft_ms: short(p99(|served| served.ttft_ms())),
        tpot_ms: short(p99(|served| served.tpot_ms())),
    }
}

/// The value of each flag at a place of the grid.
pub fn digits(flags: &[Flag], mut at: usize) -> Vec<usize> {
    let mut digits = vec![0; flags.len()];
    for (digit, flag) in digits.iter_mut().zip(flags).rev() {
        *digit = at % flag.values.len();
        at /= flag.values.len();
    }
    digits
}

/// A search on a landscape: the flags as a space, the engine's rules, and limits where there
/// are any.
pub struct Problem<'a> {
    pub landscape: &'a Landscape,
    pub space: Space,
    pub rules: FlagRules,
    /// Limits of TTFT and TPOT (99th percentiles), in milliseconds.
    pub limits: Option<[f64; 2]>,
}

impl<'a> Problem<'a> {
    pub fn new(landscape: &'a Landscape, limits: Option<[f64; 2]>) -> Self {
        let command = LaunchCommand::parse_line(&landscape.command).expect("our own command");
        let model =
            Model::named(command.model.as_deref().expect("it names one")).expect("a preset");
        let device = Device::named(&landscape.device).expect("a preset");
        let rules = FlagRules {
            version: command.engine.newest(),
            command,
            device: DeviceClass {
                kind: DeviceKind::Gpu,
                name: device.title.clone(),
                memory_gib: device.memory_bytes() / GIB,
                count: 1,
            },
            model: ModelLimits {
                max_position: u64::from(model.max_position),
                heads: model.heads,
                multimodal: false,
            },
        };
        let dimensions = landscape.flags.iter().map(|flag| Searched {
            name: flag.name.clone(),
            domain: domain(flag),
        });
        let space = Space::new(dimensions.collect(), Vec::new()).expect("flags");
        Problem {
            landscape,
            space,
            rules,
            limits,
        }
    }

    /// What a point brings.
    pub fn outcome(&self, point: &Point) -> Outcome {
        match self.cell(point) {
            Cell::Refused | Cell::Crashed => Outcome::Failed,
            cell => Outcome::Measured {
                objectives: vec![self.objective(cell)],
                violation: self.violation(cell),
            },
        }
    }

    fn cell(&self, point: &Point) -> Cell {
        let flags = self.landscape.flags.iter();
        let at = flags.fold(0, |at, flag| at * flag.values.len() + place(flag, point));
        self.landscape.cells[at]
    }

    fn objective(&self, cell: Cell) -> f64 {
        match cell {
            Cell::Served { tokens_per_s, .. } => tokens_per_s,
            Cell::Refused | Cell::Crashed => 0.0,
        }
    }

    pub fn violation(&self, cell: Cell) -> f64 {
        let (
            Some([ttft, tpot]),
            Cell::Served {
                ttft_ms, tpot_ms, ..
            },
        ) = (self.limits, cell)
        else {
            return 0.0;
        };
        let missed = |value: f64, limit: f64| (value / limit - 1.0).max(0.0);
        missed(ttft_ms, ttft) + missed(tpot_ms, tpot)
    }

    /// The best of all cells.
    pub fn optimum(&self) -> f64 {
        let met =
            |cell: &&Cell| matches!(cell, Cell::Served { .. }) && self.violation(**cell) == 0.0;
        let values = self
            .landscape
            .cells
            .iter()
            .filter(met)
            .map(|cell| self.objective(*cell));
        values.max_by(f64::total_cmp).expect("some cell is good")
    }

    /// The best so far after each trial, 0 while nothing met the limits; goes on while `longer`
    /// says so. Trial 0 is the engine's default, as in a study; no presets, which know the
    /// answer of such landscapes.
    pub fn search_while(
        &self,
        searcher: &dyn Searcher,
        seed: u64,
        longer: impl Fn(&[f64]) -> bool,
    ) -> Vec<f64> {
        let mut past: Vec<Observation> = Vec::new();
        let mut course: Vec<f64> = Vec::new();
        while longer(&course) {
            let ask = Ask {
                space: &self.space,
                rules: &self.rules,
                past: &past,
                pending: &[],
                seed,
            };
            let point = match past.is_empty() {
                true => Some(self.rules.defaults(&self.space)),
                false => searcher.next(&ask),
            };
            let Some(point) = point else { break };
            let outcome = self.outcome(&point);
            let value = match &outcome {
                Outcome::Measured {
                    objectives,
                    violation,
                } if *violation <= 0.0 => objectives[0],
                _ => 0.0,
            };
            course.push(course.last().map_or(value, |best| best.max(value)));
            past.push(Observation { outcome, point });
        }
        course
    }
}

/// The place of a point's value in a flag's list. The default need not be on the grid: the
/// nearest value stands for it.
pub fn place(flag: &Flag, point: &Point) -> usize {
    let value = point.get(&flag.name).expect("a whole point").to_string();
    let same = flag.values.iter().position(|one| *one == value);
    same.unwrap_or_else(|| {
        let number: f64 = value.parse().expect("a number");
        let far = |at: &usize| (flag.values[*at].parse::<f64>().expect("a number") - number).abs();
        (0..flag.values.len())
            .min_by(|a, b| far(a).total_cmp(&far(b)))
            .expect("values")
    })
}

fn domain(flag: &Flag) -> Domain {
    let numbers: Vec<f64> = flag
        .values
        .iter()
        .filter_map(|value| value.parse().ok())
        .collect();
    let domain = match (flag.ordered, flag.values[0].as_str()) {
        (true, value) if value.contains('.') => Domain::float(
            numbers[0],
            *numbers.last().expect("values"),
            Spacing::Linear(Some(numbers[1] - numbers[0])),
        ),
        (true, _) => Domain::int(
            numbers[0] as i64,
            *numbers.last().expect("values") as i64,
            Spacing::Log(Some(numbers[1] / numbers[0])),
        ),
        (false, "false") => Ok(Domain::bool()),
        (false, _) => Domain::choice(
            flag.values
                .iter()
                .map(|value| Value::Text(value.clone()))
                .collect(),
        ),
    };
    domain.expect("a legal range")
}

/// Trials until 95 % of the optimum; absent if never.
pub fn trials_to_95(course: &[f64], optimum: f64) -> Option<usize> {
    course
        .iter()
        .position(|&best| best >= 0.95 * optimum)
        .map(|at| at + 1)
}

/// The middle of numbers of which some are unknown, and then larger than all others.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let half = values.len() / 2;
    match values.len() % 2 {
        0 => (values[half - 1] + values[half]) / 2.0,
        _ => values[half],
    }
}
