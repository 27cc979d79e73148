//! Pages that follow what this process measures.

use super::home::{Home, Own, address_of};
use super::{access, address, answer, query};
use crate::live::{Followed, LivePage};
use anyhow::{Context, bail};
use inferometer_load::clock::while_showing;
use inferometer_web::Server;
use std::path::Path;

/// Serves the folder that a measurement is kept in, and its live page.
pub fn follow(
    listen: &str,
    token_file: Option<&Path>,
    followed: &Followed<'_>,
) -> anyhow::Result<LivePage> {
    let address = address("--live", listen)?;
    let access = access("--live", address, token_file)?;
    let query = query(&access);
    let out = std::path::absolute(followed.folder)?;
    let (Some(folder), Some(name)) = (out.parent(), out.file_name()) else {
        bail!("--live needs a folder for what is measured; give one with --out");
    };
    let own = Own {
        name: name.to_string_lossy().into_owned(),
        end: followed.end.clone(),
    };
    let page = address_of(&own.name);
    let home = Home::beside(folder.to_owned(), own, followed.lang);
    let server = Server::bind(address, access).with_context(|| {
        format!("cannot listen on {address}; choose another port, as in --live=127.0.0.1:7471")
    })?;
    let handle = server.start(move |request| while_showing(|| answer(&home, request)))?;
    let address = format!("http://{}/{page}{query}", handle.address());
    Ok(LivePage::new(handle, address))
}
