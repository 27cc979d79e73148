//! Starts an engine by its command, watches it for a while and stops it: the library by hand,
//! and the tuner that tests kill.
//!
//! launch [--port N] [--hold SECONDS] [--samples FILE] [--log FILE] [--registry DIR] [--line TEXT]
//!        [--probe] -- COMMAND
#![allow(clippy::print_stdout, clippy::print_stderr)]

use inferometer_catalog::engine::{DeviceClass, DeviceKind};
use inferometer_engine::{
    Access, Client, DeviceTool, Devices, Engine, Interview, Launch, Readiness, SUPERVISOR_WORD,
    StartProgress, Supervisor, Watch, WatchPlan, device_class, discover, leftovers, supervise,
};
use std::error::Error;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::{Duration, Instant};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1).peekable();
    if arguments.peek().is_some_and(|word| word == SUPERVISOR_WORD) {
        return Ok(supervise(std::io::stdin(), std::io::stdout())?);
    }
    let (mut port, mut hold, mut samples, mut registry, mut line) = (None, 1.0, None, None, None);
    let mut log = PathBuf::from("engine.log");
    let mut is_probed = false;
    while let Some(option) = arguments.next().filter(|word| word != "--") {
        if option == "--probe" {
            is_probed = true;
            continue;
        }
        let value = arguments.next().ok_or("an option lacks its value")?;
        match option.as_str() {
            "--port" => port = Some(value.parse()?),
            "--hold" => hold = value.parse()?,
            "--samples" => samples = Some(PathBuf::from(value)),
            "--log" => log = value.into(),
            "--registry" => registry = Some(PathBuf::from(value)),
            "--line" => line = Some(value),
            other => return Err(format!("unknown option {other}").into()),
        }
    }
    let words: Vec<String> = arguments.collect();
    for leftover in registry.iter().flat_map(|folder| leftovers(folder)) {
        println!("left over: {leftover}");
    }
    let mut engine = Engine::new(&words)?;
    let supervisor = Supervisor {
        program: std::env::current_exe()?,
        arguments: vec![SUPERVISOR_WORD.into()],
    };
    let devices = DeviceTool::find();
    if is_probed {
        let began = Instant::now();
        engine = engine.probed(&mut Interview {
            supervisor: &supervisor,
            version: None,
            limit: Duration::from_secs(180),
            waiting: &mut |_, _| {},
        });
        println!(
            "{} {} (probed in {:.1} s, help {})",
            engine.kind(),
            engine.version(),
            began.elapsed().as_secs_f64(),
            if engine.installed().help.is_some() {
                "read"
            } else {
                "not needed"
            },
        );
    }
    let class = devices
        .as_ref()
        .and_then(|tool| device_class(tool.kind(), &tool.look()));
    let class = class.unwrap_or(DeviceClass {
        kind: DeviceKind::Cpu,
        name: "CPU".into(),
        memory_gib: 16.0,
        count: 1,
    });
    for objection in engine.check(&class, engine.model_limits().as_ref()) {
        println!("objection: {objection}");
    }
    let mut launch = Launch::new(&engine, port, &log, supervisor);
    launch.registry = registry;
    if let Some(line) = line {
        launch.ready = Readiness {
            probes: Vec::new(),
            line: Some(line),
            instead: Vec::new(),
        };
    }
    launch.devices = devices;
    let mut running = match launch.start(&mut |progress| {
        if !matches!(progress, StartProgress::Waiting { .. }) {
            println!("{progress:?}");
        }
        ControlFlow::Continue(())
    }) {
        Ok(running) => running,
        Err(error) => {
            println!("{error}");
            if let inferometer_engine::StartError::Failed(failure) = &error {
                println!("class {}", failure.class);
                failure
                    .evidence
                    .iter()
                    .for_each(|line| println!("  {line}"));
            }
            return Ok(());
        }
    };
    println!("{:?}", running.facts());
    let watch = match samples {
        Some(samples) => Some(Watch::start(WatchPlan {
            origin_monotonic_ns: 0,
            every: Duration::from_millis(500),
            metrics: discover(
                &Client::for_server(Access::default(), Duration::from_secs(5))?,
                running.url(),
            ),
            access: Access::default(),
            devices: Devices::OfThisHost,
            samples,
        })?),
        None => None,
    };
    println!("holding");
    let began = Instant::now();
    while began.elapsed().as_secs_f64() < hold {
        if let Some(failure) = running.died() {
            println!("died: {failure}");
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    drop(watch);
    println!("{:?}", running.stop());
    Ok(())
}
