//! The hidden `inferometer null-server`: does nothing but write. Ends when standard input
//! closes.

use crate::exit::Exit;
use crate::output::print;
use clap::Args;
use inferometer_core::units::Span;
use inferometer_sim::null::{NullConfig, NullServer};
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The hidden `inferometer null-server`.
#[derive(Args)]
pub struct NullServerArguments {
    #[arg(long, default_value = "127.0.0.1:0")]
    pub listen: SocketAddr,
    #[arg(long, default_value = "1")]
    pub events_per_write: NonZeroU32,
    #[arg(long)]
    pub gap: Option<Span>,
    #[arg(long)]
    pub truth: Option<PathBuf>,
}

/// Serves until standard input closes.
pub fn run(arguments: NullServerArguments) -> anyhow::Result<Exit> {
    let config = NullConfig {
        events_per_write: arguments.events_per_write,
        gap: arguments.gap.map(|gap| gap.0),
        truth: arguments.truth,
        ..NullConfig::default()
    };
    let server = NullServer::bind(arguments.listen, config)?;
    print(&format!("listening on http://{}\n", server.local_addr()))?;
    let stop = Arc::new(AtomicBool::new(false));
    let watched = Arc::clone(&stop);
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        watched.store(true, Ordering::Relaxed);
    });
    server.run(&stop)?;
    Ok(Exit::Fine)
}
