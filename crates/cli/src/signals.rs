//! What signals mean: Ctrl-C, a polite kill, a closed terminal and a limit of CPU time to a
//! measurement, a limit on the size of files to all.

use crate::stderr::say;
use anyhow::Context;
use inferometer_load::instrument::Control;
use inferometer_load::worker::Stop;
use inferometer_tui::{EndWish, give_back};
use rustix::process::{Resource, Signal};
use std::sync::Arc;
use tokio::signal::unix::{SignalKind, signal};

/// The first signal drains, the second leaves. Both keep what is recorded.
pub fn interrupt_on_signals(control: Control) -> anyhow::Result<EndWish> {
    interrupt_or_say(control, String::new())
}

/// The same for what was kept in a folder: where nothing is measured at the moment, as in virtual
/// time, it ends at once, with a last word.
pub fn interrupt_or_say(control: Control, last_word: String) -> anyhow::Result<EndWish> {
    on_signals(move || {
        if !control.is_measuring() {
            give_back();
            if !last_word.is_empty() {
                say(format_args!("\n{last_word}"));
            }
            std::process::exit(130);
        }
        // Two wishes are heard; a third means that nothing hears them.
        if control.state() == Stop::Leave {
            leave();
        }
        control.interrupt();
    })
}

/// The same for a campaign, which has more to put in order than a measurement: it hears of the
/// wish whatever it is at, and ends by itself.
pub fn interrupt_campaign_on_signals(controls: Vec<Control>) -> anyhow::Result<EndWish> {
    on_signals(move || {
        if controls
            .iter()
            .all(|control| control.state() == Stop::Leave)
        {
            leave();
        }
        controls.iter().for_each(Control::interrupt);
    })
}

fn leave() -> ! {
    give_back();
    std::process::exit(130)
}

/// Where files may not grow without limit, a write beyond it becomes an error that can be told; by
/// itself the system ends the process.
pub fn survive_file_limit() {
    if rustix::process::getrlimit(Resource::Fsize)
        .current
        .is_none()
    {
        return;
    }
    let mut builder = tokio::runtime::Builder::new_current_thread();
    if let Ok(runtime) = builder.enable_all().build() {
        let _guard = runtime.enter();
        // Once it is listened to, a signal never again does what the system would.
        let _ = signal(SignalKind::from_raw(Signal::XFSZ.as_raw()));
    }
}

/// Whether a closed terminal is to be ignored, as under `nohup`.
fn outlives_terminal() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & 1 << (Signal::HUP.as_raw() - 1) != 0)
}

fn on_signals(hear: impl Fn() + Send + Sync + 'static) -> anyhow::Result<EndWish> {
    let wish: EndWish = Arc::new(hear);
    let hear = Arc::clone(&wish);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    // Before the thread runs, so that no signal finds the system's own manners.
    let guard = runtime.enter();
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut out_of_time = signal(SignalKind::from_raw(Signal::XCPU.as_raw()))?;
    let mut hang_up = (!outlives_terminal())
        .then(|| signal(SignalKind::hangup()))
        .transpose()?;
    drop(guard);
    std::thread::Builder::new()
        .name("signals".into())
        .spawn(move || {
            runtime.block_on(async {
                loop {
                    tokio::select! {
                        _ = interrupt.recv() => {}
                        _ = terminate.recv() => {}
                        _ = out_of_time.recv() => {}
                        _ = closed(&mut hang_up) => {}
                    }
                    hear();
                }
            });
        })
        .context(crate::NO_THREAD)?;
    Ok(wish)
}

/// The terminal was closed; never, where that is to be ignored.
async fn closed(hang_up: &mut Option<tokio::signal::unix::Signal>) {
    match hang_up {
        Some(hang_up) => _ = hang_up.recv().await,
        None => std::future::pending().await,
    }
}
