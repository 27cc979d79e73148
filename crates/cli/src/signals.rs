//! What Ctrl-C and a polite kill mean to a measurement.

use anyhow::Context;
use inferometer_load::instrument::Control;
use inferometer_load::worker::Stop;

/// The first signal drains, the second leaves. Both keep what is recorded.
pub fn interrupt_on_signals(control: Control) -> anyhow::Result<()> {
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
                    if !control.is_measuring() {
                        std::process::exit(130);
                    }
                    // Two wishes are heard; a third means that nothing hears them.
                    if control.state() == Stop::Leave {
                        std::process::exit(130);
                    }
                    control.interrupt();
                }
            });
        })
        .context("cannot watch for signals")?;
    Ok(())
}
