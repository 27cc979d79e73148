//! A plain GET or POST: for what is asked before and after a measurement.

use crate::connect::Transport;
use crate::exchange::Timeouts;
use crate::failure::{failure, of_io};
use crate::http::{Head, Request};
use crate::setup::Route;
use inferometer_core::record::{Failure, FailureClass, Phase};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const LONGEST: usize = 4 << 20;

#[derive(Clone, Debug)]
pub struct Reply {
    pub status: u16,
    pub server: Option<String>,
    pub body: String,
}

/// Gets a path on the server of a route, on a connection of its own.
pub async fn get<T: Transport>(
    route: &Route<T>,
    path: &str,
    timeouts: Timeouts,
) -> Result<Reply, Failure> {
    fetch(route, path, None, timeouts).await
}

pub async fn post<T: Transport>(
    route: &Route<T>,
    path: &str,
    json: &[u8],
    timeouts: Timeouts,
) -> Result<Reply, Failure> {
    fetch(route, path, Some(json), timeouts).await
}

async fn fetch<T: Transport>(
    route: &Route<T>,
    path: &str,
    json: Option<&[u8]>,
    timeouts: Timeouts,
) -> Result<Reply, Failure> {
    let limit = timeouts.read.min(timeouts.request);
    match tokio::time::timeout(limit, fetch_unlimited(route, path, json)).await {
        Ok(reply) => reply,
        Err(_) => Err(failure(
            Phase::Timeout,
            FailureClass::ReadTimeout,
            format!("no answer within {limit:?}"),
        )),
    }
}

async fn fetch_unlimited<T: Transport>(
    route: &Route<T>,
    path: &str,
    json: Option<&[u8]>,
) -> Result<Reply, Failure> {
    let mut stream = route.transport.open().await?;
    let request = Request {
        method: if json.is_some() { "POST" } else { "GET" },
        path,
        host: &route.host,
        headers: &route.headers,
    };
    let bytes = request.render(&[("Connection", "close")], json);
    let sent = async {
        stream.write_all(&bytes).await?;
        stream.flush().await
    };
    sent.await.map_err(|error| of_io(Phase::Send, &error))?;
    let mut kept = Vec::new();
    let mut piece = vec![0; 16 << 10];
    let mut body = Vec::new();
    let mut open = None;
    loop {
        let read = stream
            .read(&mut piece)
            .await
            .map_err(|error| of_io(Phase::Status, &error))?;
        let mut fresh = &piece[..read];
        if open.is_none() {
            kept.extend_from_slice(fresh);
            let head = Head::read(&kept).map_err(|error| {
                failure(Phase::Status, FailureClass::BadStream, error.to_string())
            })?;
            match head {
                None if read == 0 => {
                    let detail = "the server closed the connection without an answer";
                    return Err(failure(Phase::Status, FailureClass::Disconnected, detail));
                }
                None => continue,
                Some(head) if head.is_interim() => {
                    kept.drain(..head.length);
                    continue;
                }
                Some(head) => {
                    fresh = &kept[head.length..];
                    open = Some((head.body(), head));
                }
            }
        }
        let Some((frame, head)) = &mut open else {
            continue;
        };
        frame
            .decode(fresh, |data| {
                let room = LONGEST.saturating_sub(body.len()).min(data.len());
                body.extend_from_slice(&data[..room]);
            })
            .map_err(|error| failure(Phase::Stream, FailureClass::BadStream, error.to_string()))?;
        if read == 0 || frame.is_done() {
            return Ok(Reply {
                status: head.status,
                server: head.server.clone(),
                body: String::from_utf8_lossy(&body).into_owned(),
            });
        }
    }
}
