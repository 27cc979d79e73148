//! `--live`: pages that follow what this process measures.

use super::home::{Home, address_of};
use super::{address, answer};
use anyhow::{Context, bail};
use inferometer_load::instrument::Control;
use inferometer_text::Lang;
use inferometer_web::{Access, Server, ServerHandle};
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(clap::Args)]
pub struct LiveOptions {
    /// Show it in a browser while it goes on, at this address [127.0.0.1:7470]
    #[arg(
        long,
        value_name = "ADDR:PORT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "127.0.0.1:7470",
        help_heading = "Output"
    )]
    pub live: Option<String>,
    /// A page may not end the run
    #[arg(long, requires = "live", help_heading = "Output")]
    pub read_only: bool,
}

/// Pages of what this process measures; they end with it.
pub struct LivePage(#[expect(dead_code, reason = "it serves until it is dropped")] ServerHandle);

impl LiveOptions {
    /// Serves the folder that a run is kept in, and says where its page is; absent unless that was
    /// asked for.
    pub fn follow(
        &self,
        out: &Path,
        control: &Control,
        lang: Lang,
    ) -> anyhow::Result<Option<LivePage>> {
        let Some(listen) = &self.live else {
            return Ok(None);
        };
        let out = std::path::absolute(out)?;
        let (Some(folder), Some(name)) = (out.parent(), out.file_name()) else {
            bail!("--live needs a folder for the run; give one with --out");
        };
        let name = name.to_string_lossy().into_owned();
        let page = address_of(&name);
        let home = if self.read_only {
            Home::new(vec![folder.to_owned()], lang)
        } else {
            Home::beside(folder.to_owned(), name, control.clone(), lang)
        };
        started(listen, home, &page).map(Some)
    }

    /// Serves the runs of a sweep or a search, which come one after the other in a folder.
    pub fn follow_all(&self, folder: PathBuf, lang: Lang) -> anyhow::Result<Option<LivePage>> {
        let Some(listen) = &self.live else {
            return Ok(None);
        };
        started(listen, Home::new(vec![folder], lang), "").map(Some)
    }
}

fn started(listen: &str, home: Home, page: &str) -> anyhow::Result<LivePage> {
    let address = address("--live", listen)?;
    if !address.ip().is_loopback() {
        bail!(
            "--live {address} can be reached by others; use 127.0.0.1, or `inferometer serve` with a token"
        );
    }
    let server = Server::bind(address, Access::Loopback).with_context(|| {
        format!("cannot listen on {address}; choose another port, as in --live=127.0.0.1:7471")
    })?;
    let handle = server.start(move |request| answer(&home, request))?;
    eprintln!("live: http://{}/{page}", handle.address());
    Ok(LivePage(handle))
}

impl LivePage {
    /// Leaves browsers the time to hear that the measurement ended.
    pub fn end(self) {
        std::thread::sleep(Duration::from_millis(1_200));
    }
}
