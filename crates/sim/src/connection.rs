//! One connection: reads requests one after the other and answers them.

use std::{io, sync::Arc};

use inferometer_catalog::engine::EngineKind;

use crate::{
    client_stream::ClientStream,
    completion_request::Api,
    endpoint,
    fault::Switch,
    generate::{Target, generate},
    http::{ReadProgress, Request},
    items::ItemsApi,
    native,
    reply::ErrorReply,
    responder::{After, Responder},
    shared::Shared,
};

/// Serves a connection until either side ends it. An error means that the client has gone,
/// which is its right.
pub(crate) async fn serve(shared: Arc<Shared>, mut client: ClientStream) -> io::Result<()> {
    loop {
        match client.requests.advance() {
            Ok(ReadProgress::More) => {
                if client.read().await? == 0 {
                    return Ok(());
                }
            }
            Ok(ReadProgress::Continue) => {
                client.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
            }
            Ok(ReadProgress::Done(request)) => match answer(&shared, &mut client, request).await? {
                After::KeepOpen => {}
                After::Close => {
                    client.close().await;
                    return Ok(());
                }
                After::Drop => return Ok(()),
            },
            Err(reason) => {
                let plain = Responder::closing(shared.kind());
                plain
                    .refuse(&mut client, &ErrorReply::unreadable(reason))
                    .await?;
                client.close().await;
                return Ok(());
            }
        }
    }
}

async fn answer(
    shared: &Arc<Shared>,
    client: &mut ClientStream,
    request: Request,
) -> io::Result<After> {
    let config = &shared.config;
    let path = match &config.path_prefix {
        Some(prefix) => request.path.strip_prefix(prefix.trim_end_matches('/')),
        None => Some(request.path.as_str()),
    };
    let path = path.unwrap_or_default().to_owned();
    let path = path.as_str();
    let kind = shared.kind();
    let of_native = || native::Endpoint::of(path, kind).map(Target::Native);
    let target = match path {
        "/v1/chat/completions" => Some(Target::OpenAi(Api::Chat)),
        "/v1/completions" => Some(Target::OpenAi(Api::Completions)),
        // SGLang has it, too; TensorRT-LLM and MindIE do not.
        "/v1/audio/transcriptions"
            if matches!(kind, None | Some(EngineKind::Vllm | EngineKind::Sglang)) =>
        {
            Some(Target::Transcription)
        }
        path => (ItemsApi::of(path, kind).map(Target::Items)).or_else(of_native),
    };
    if let Some(target) = target
        && request.method == "POST"
    {
        return generate(shared, client, request, target).await;
    }
    let responder = Responder {
        http10: request.http10 || config.faults.has(Switch::Http10),
        keep_alive: request.keep_alive && !config.faults.has(Switch::Http10),
        request_id: request.request_id.as_deref(),
        kind: shared.kind(),
    };
    let allowed = match target {
        Some(_) => Some("POST"),
        None => endpoint::methods(shared, path),
    };
    let answer = match allowed {
        None => Err(ErrorReply::not_found()),
        Some(allowed) if !allowed.split(", ").any(|method| method == request.method) => {
            Err(ErrorReply::method_not_allowed(allowed))
        }
        Some(_) => endpoint::respond(shared, path, &request).await,
    };
    match answer {
        Ok(body) => {
            responder
                .send(client, body.content_type, &body.text)
                .await?
        }
        Err(refusal) => responder.refuse(client, &refusal).await?,
    };
    Ok(responder.after())
}
