//! `inferometer sim`: the simulated engine as a server.

use crate::Exit;
use crate::arguments::SimArguments;
use crate::output::print;
use anyhow::{Context, bail};
use inferometer_sim::{Config, Server, Tls};
use std::path::Path;
use tokio::signal::unix::{SignalKind, signal};

/// Serves until a signal comes, or until standard input closes where that was asked.
pub fn run(arguments: SimArguments) -> anyhow::Result<Exit> {
    if !arguments.engine.is_empty() {
        bail!("this version does not read engine commands; use --ttft, --itl and --jitter");
    }
    let api_key = match &arguments.api_key_env {
        None => None,
        Some(name) => Some(std::env::var(name).with_context(|| {
            format!(
                "the environment variable {name} of --api-key-env is not set; set it to the key"
            )
        })?),
    };
    let scheme = if arguments.tls_cert.is_some() {
        "https"
    } else {
        "http"
    };
    let tls = match (&arguments.tls_cert, &arguments.tls_key) {
        (Some(cert), Some(key)) => Some(Tls {
            cert_chain_pem: read(cert)?,
            key_pem: read(key)?,
            client_ca_pem: arguments.tls_client_ca.as_deref().map(read).transpose()?,
        }),
        _ => None,
    };
    let config = Config {
        model: arguments.model,
        engine: None,
        ttft: arguments.ttft.0,
        itl: arguments.itl.0,
        jitter: arguments.jitter.0,
        seed: arguments.seed,
        faults: arguments.faults.unwrap_or_default(),
        truth: arguments.truth,
        api_key,
        max_model_len: arguments.max_model_len,
        path_prefix: arguments.path_prefix.clone(),
        tls,
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let leave_with_stdin = arguments.until_stdin_closes;
    runtime.block_on(async {
        let server = Server::bind(arguments.listen, config)?;
        let prefix = arguments.path_prefix.unwrap_or_default();
        print(&format!(
            "listening on {scheme}://{}{prefix}\n",
            server.local_addr()
        ))?;
        server.serve(asked_to_end(leave_with_stdin)).await?;
        anyhow::Ok(())
    })?;
    // Standard input may still be read on tokio's thread, which must not hold the process.
    runtime.shutdown_background();
    Ok(Exit::Fine)
}

async fn asked_to_end(leave_with_stdin: bool) {
    let stdin_closes = async {
        if !leave_with_stdin {
            std::future::pending::<()>().await;
        }
        // A thread of its own, because standard input has no readiness to wait for.
        let (closed, wait) = tokio::sync::oneshot::channel();
        std::thread::spawn(move || {
            let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
            let _ = closed.send(());
        });
        let _ = wait.await;
    };
    let signalled = async {
        match (
            signal(SignalKind::interrupt()),
            signal(SignalKind::terminate()),
        ) {
            (Ok(mut interrupt), Ok(mut terminate)) => tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            },
            _ => std::future::pending().await,
        }
    };
    tokio::select! {
        () = stdin_closes => {}
        () = signalled => {}
    }
}

fn read(file: &Path) -> anyhow::Result<Vec<u8>> {
    std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))
}
