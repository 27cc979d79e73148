//! One connection: reads requests one after the other and answers them.

use std::{
    io,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use inferometer_catalog::engine::EngineKind;
use serde_json::json;

use crate::{
    clock::Stamp,
    endpoint,
    generate::{Target, generate},
    http::{Progress, Request, RequestReader},
    mindie,
    reply::{BodyEnd, Head, Refusal},
    server::Shared,
    wire::Wire,
    work::Api,
};

pub(crate) const JSON: &str = "application/json";

/// What becomes of the connection after an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    KeepOpen,
    Close,
    /// Without waiting for the client to take what was sent.
    Drop,
}

/// Serves a connection until either side ends it. An error means that the client has gone,
/// which is its right.
pub(crate) async fn serve(shared: Arc<Shared>, mut wire: Wire) -> io::Result<()> {
    let mut reader = RequestReader::default();
    loop {
        match reader.advance() {
            Ok(Progress::More) => {
                if wire.read(&mut reader.buf).await? == 0 {
                    return Ok(());
                }
            }
            Ok(Progress::Continue) => {
                wire.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
            }
            Ok(Progress::Done(request)) => {
                match answer(&shared, &mut wire, &mut reader.buf, request).await? {
                    After::KeepOpen => {}
                    After::Close => {
                        wire.close().await;
                        return Ok(());
                    }
                    After::Drop => return Ok(()),
                }
            }
            Err(reason) => {
                let plain = Exchange::closing(shared.kind());
                plain
                    .refuse(&mut wire, &Refusal::unreadable(reason))
                    .await?;
                wire.close().await;
                return Ok(());
            }
        }
    }
}

/// What the heads of a request's answers have in common.
pub(crate) struct Exchange<'a> {
    pub(crate) http10: bool,
    pub(crate) keep_alive: bool,
    pub(crate) request_id: Option<&'a str>,
    pub(crate) kind: Option<EngineKind>,
}

impl Exchange<'_> {
    fn closing(kind: Option<EngineKind>) -> Exchange<'static> {
        Exchange {
            http10: false,
            keep_alive: false,
            request_id: None,
            kind,
        }
    }

    pub(crate) fn after(&self) -> After {
        if self.keep_alive {
            After::KeepOpen
        } else {
            After::Close
        }
    }

    pub(crate) fn head(&self, status: u16, content_type: &str, body_end: BodyEnd) -> String {
        self.head_with(status, content_type, body_end, None)
    }

    fn head_with(
        &self,
        status: u16,
        content_type: &str,
        body_end: BodyEnd,
        header: Option<(&'static str, &'static str)>,
    ) -> String {
        let head = Head {
            status,
            content_type,
            body_end,
            http10: self.http10,
            keep_alive: self.keep_alive && body_end != BodyEnd::Close,
            request_id: self.request_id,
            header,
        };
        head.render()
    }

    async fn send(&self, wire: &mut Wire, content_type: &str, body: &str) -> io::Result<Stamp> {
        let mut bytes = self.head(200, content_type, BodyEnd::Length(body.len()));
        bytes.push_str(body);
        wire.write_all(bytes.as_bytes()).await
    }

    pub(crate) async fn refuse(&self, wire: &mut Wire, refusal: &Refusal) -> io::Result<Stamp> {
        let body = refusal.told_by(self.kind);
        let length = BodyEnd::Length(body.len());
        let mut bytes = self.head_with(refusal.status_of(self.kind), JSON, length, refusal.header);
        bytes.push_str(&body);
        wire.write_all(bytes.as_bytes()).await
    }
}

async fn answer(
    shared: &Arc<Shared>,
    wire: &mut Wire,
    ahead: &mut Vec<u8>,
    request: Request,
) -> io::Result<After> {
    let config = &shared.config;
    let path = match &config.path_prefix {
        Some(prefix) => request.path.strip_prefix(prefix.trim_end_matches('/')),
        None => Some(request.path.as_str()),
    };
    let path = path.unwrap_or_default().to_owned();
    let path = path.as_str();
    let target = match (path, shared.kind()) {
        ("/v1/chat/completions", _) => Some(Target::OpenAi(Api::Chat)),
        ("/v1/completions", _) => Some(Target::OpenAi(Api::Completions)),
        (path, Some(EngineKind::Mindie)) => mindie::Endpoint::of(path).map(Target::Mindie),
        _ => None,
    };
    if let Some(target) = target
        && request.method == "POST"
    {
        return generate(shared, wire, ahead, request, target).await;
    }
    let exchange = Exchange {
        http10: request.http10 || config.faults.http10,
        keep_alive: request.keep_alive && !config.faults.http10,
        request_id: request.request_id.as_deref(),
        kind: shared.kind(),
    };
    let allowed = match target {
        Some(_) => Some("POST"),
        None => endpoint::methods(shared, path),
    };
    let answer = match allowed {
        None => Err(Refusal::not_found()),
        Some(allowed) if !allowed.split(", ").any(|method| method == request.method) => {
            Err(Refusal::method_not_allowed(allowed))
        }
        Some(_) => endpoint::respond(shared, path, &request).await,
    };
    match answer {
        Ok(body) => exchange.send(wire, body.content_type, &body.text).await?,
        Err(refusal) => exchange.refuse(wire, &refusal).await?,
    };
    Ok(exchange.after())
}

/// As vLLM lists the one model that it serves.
pub(crate) fn models(model: &str, max_model_len: u32) -> String {
    let card = json!({
        "id": model, "object": "model", "created": now_s(), "owned_by": "inferometer-sim",
        "root": model, "parent": null, "max_model_len": max_model_len,
    });
    json!({"object": "list", "data": [card]}).to_string()
}

pub(crate) fn now_s() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

pub(crate) fn authorized(shared: &Shared, request: &Request) -> bool {
    let Some(key) = &shared.config.api_key else {
        return true;
    };
    let token = request.authorization.as_deref();
    token.and_then(|text| text.strip_prefix("Bearer ")) == Some(key)
}
