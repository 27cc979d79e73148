//! What Ctrl-C and a polite kill mean to a measurement.

use anyhow::Context;
use inferometer_load::instrument::Control;
use inferometer_load::worker::Stop;

/// The first signal drains, the second leaves. Both keep what is recorded.
pub fn interrupt_on_signals(control: Control) -> anyhow::Result<()> {
    on_signals(move || {
        if !control.is_measuring() {
            std::process::exit(130);
        }
        // Two wishes are heard; a third means that nothing hears them.
        if control.state() == Stop::Leave {
            std::process::exit(130);
        }
        control.interrupt();
    })
}

/// The same for a campaign, which has more to put in order than a measurement: it hears of the
/// wish whatever it is at, and ends by itself.
pub fn interrupt_campaign_on_signals(controls: Vec<Control>) -> anyhow::Result<()> {
    on_signals(move || {
        if controls
            .iter()
            .all(|control| control.state() == Stop::Leave)
        {
            std::process::exit(130);
        }
        controls.iter().for_each(Control::interrupt);
    })
}

fn on_signals(mut hear: impl FnMut() + Send + 'static) -> anyhow::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    // Before the thread runs, so that no signal finds the system's own manners.
    let guard = runtime.enter();
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    drop(guard);
    std::thread::Builder::new()
        .name("signals".into())
        .spawn(move || {
            runtime.block_on(async {
                loop {
                    tokio::select! {
                        _ = interrupt.recv() => {}
                        _ = terminate.recv() => {}
                    }
                    hear();
                }
            });
        })
        .context("cannot watch for signals")?;
    Ok(())
}
