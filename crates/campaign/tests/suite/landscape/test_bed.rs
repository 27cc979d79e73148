//! Engines under a load, and what each setting of their flags brings.

use super::{Cell, Flag, Landscape, digits, median};
use inferometer_catalog::device::Device;
use inferometer_catalog::engine::LaunchCommand;
use inferometer_catalog::timing::Timing;
use inferometer_core::seed::{Dimension, rng};
use inferometer_sim::engine::{
    Engine, Request,
    virtual_time::{Keep, Run, Served, closed_loop},
};
use inferometer_sim::launch::{Host, Launch, LaunchError};
use rand::RngExt;

/// An engine and the load on it.
#[derive(Clone, Debug)]
pub struct TestBed {
    pub model: &'static str,
    pub device: &'static str,
    pub cards: u32,
    pub utilizations: &'static [&'static str],
    /// Longest prompt and answer together; below it a step without chunked prefill is refused,
    /// and so is a KV cache that does not hold one.
    pub model_len: u32,
    pub streams: usize,
    pub requests: u64,
    /// Mean tokens of prompt and answer, and of the beginning that prompts of a group share.
    pub input: u32,
    pub output: u32,
    pub shared: u32,
    /// Step times other than the device's own.
    pub timing: Option<Timing>,
}

/// Of most of them.
const MODEL_LEN: u32 = 4096;
const GROUPS: u64 = 8;

/// Three models on two devices, each shared with others, so that memory for the KV cache is short.
pub const TEST_BEDS: [TestBed; 6] = [
    test_bed(
        "qwen2.5-7b",
        "l20",
        &["0.36", "0.39", "0.42"],
        64,
        [600, 160, 256],
    ),
    test_bed(
        "qwen2.5-7b",
        "a100-40g",
        &["0.4", "0.47", "0.54"],
        128,
        [1200, 96, 512],
    ),
    test_bed(
        "llama-3.1-8b",
        "l20",
        &["0.38", "0.43", "0.48"],
        64,
        [800, 128, 256],
    ),
    test_bed(
        "llama-3.1-8b",
        "a100-40g",
        &["0.42", "0.52", "0.62"],
        160,
        [400, 256, 128],
    ),
    test_bed(
        "qwen2.5-14b",
        "l20",
        &["0.66", "0.73", "0.8"],
        48,
        [1000, 128, 384],
    ),
    test_bed(
        "qwen2.5-14b",
        "a100-40g",
        &["0.75", "0.84", "0.93"],
        96,
        [500, 200, 128],
    ),
];

/// What differs between test_beds; lengths are of prompt, answer and shared beginning.
pub const fn test_bed(
    model: &'static str,
    device: &'static str,
    utilizations: &'static [&'static str],
    streams: usize,
    [input, output, shared]: [u32; 3],
) -> TestBed {
    TestBed {
        model,
        device,
        cards: 1,
        utilizations,
        model_len: MODEL_LEN,
        streams,
        requests: 4 * streams as u64,
        input,
        output,
        shared,
        timing: None,
    }
}

impl TestBed {
    /// The command that every setting is added to.
    pub fn command(&self) -> String {
        let len = self.model_len;
        format!("vllm serve {} --max-model-len {len}", self.model)
    }

    pub fn flags(&self) -> Vec<Flag> {
        let flag = |name: &str, values: &[&str], ordered| Flag {
            name: name.to_owned(),
            values: values.iter().map(|&value| value.to_owned()).collect(),
            ordered,
        };
        let switch = &["false", "true"];
        let seqs = &["8", "16", "32", "64", "128", "256", "512", "1024"];
        let tokens = &["128", "256", "512", "1024", "2048", "4096", "8192", "16384"];
        let mut flags = vec![
            flag("max-num-seqs", seqs, true),
            flag("max-num-batched-tokens", tokens, true),
            flag("gpu-memory-utilization", self.utilizations, true),
            flag("kv-cache-dtype", &["auto", "fp8"], false),
            flag("enable-prefix-caching", switch, false),
            flag("enable-chunked-prefill", switch, false),
            flag("enforce-eager", switch, false),
        ];
        if self.cards > 1 {
            let powers = (0..=self.cards.ilog2()).map(|power| (1 << power).to_string());
            flags.pop();
            flags.push(Flag {
                name: "tensor-parallel-size".to_owned(),
                values: powers.collect(),
                ordered: true,
            });
        }
        flags
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
            name: match self.cards {
                1 => format!("{} {}", self.model, self.device),
                cards => format!("{} {cards} x {}", self.model, self.device),
            },
            command: self.command(),
            device: self.device.to_owned(),
            cards: self.cards,
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
            cards: self.cards,
            version: None,
            timing: self.timing.clone(),
            stamp: String::new(),
        };
        let command = LaunchCommand::parse(&words).expect("a command");
        match Launch::of_command(&command, &host) {
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
    let p99 = |figure: fn(&Served) -> Option<f64>| {
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
