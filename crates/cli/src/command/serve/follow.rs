//! Pages that follow what this process measures.

use super::home::{Home, address_of};
use super::{address, answer};
use crate::live::{Followed, LivePage};
use anyhow::{Context, bail};
use inferometer_text::Lang;
use inferometer_web::{Access, Server};

/// Serves the folder that a run is kept in, or the one with the runs of a sweep or a search.
pub fn follow(listen: &str, followed: &Followed<'_>, lang: Lang) -> anyhow::Result<LivePage> {
    let address = address("--live", listen)?;
    if !address.ip().is_loopback() {
        bail!(
            "--live {address} can be reached by others; use 127.0.0.1, or `inferometer serve` with a token"
        );
    }
    let (home, page) = match followed {
        Followed::All(folder) => (Home::new(vec![folder.to_path_buf()], lang), String::new()),
        Followed::Run(out, control) => {
            let out = std::path::absolute(out)?;
            let (Some(folder), Some(name)) = (out.parent(), out.file_name()) else {
                bail!("--live needs a folder for the run; give one with --out");
            };
            let name = name.to_string_lossy().into_owned();
            let (page, folder) = (address_of(&name), folder.to_owned());
            let home = match control {
                Some(control) => Home::beside(folder, name, (*control).clone(), lang),
                None => Home::new(vec![folder], lang),
            };
            (home, page)
        }
    };
    let server = Server::bind(address, Access::Loopback).with_context(|| {
        format!("cannot listen on {address}; choose another port, as in --live=127.0.0.1:7471")
    })?;
    let handle = server.start(move |request| answer(&home, request))?;
    eprintln!("live: http://{}/{page}", handle.address());
    Ok(LivePage::new(handle))
}
