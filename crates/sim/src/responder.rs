//! Writes the answer to one request: its head, and its body where that is not a stream.

use std::io;

use inferometer_catalog::engine::EngineKind;

use crate::{
    client_stream::ClientStream,
    clock::Stamp,
    reply::{BodyEnd, ErrorReply, Head, JSON},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    KeepOpen,
    Close,
    /// Without waiting for the client to take what was sent.
    Drop,
}

/// What the heads of a request's answers have in common.
pub(crate) struct Responder<'a> {
    pub(crate) http10: bool,
    pub(crate) keep_alive: bool,
    pub(crate) request_id: Option<&'a str>,
    pub(crate) kind: Option<EngineKind>,
}

impl Responder<'_> {
    pub(crate) fn closing(kind: Option<EngineKind>) -> Responder<'static> {
        Responder {
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

    pub(crate) async fn send(
        &self,
        client: &mut ClientStream,
        content_type: &str,
        body: &str,
    ) -> io::Result<Stamp> {
        let mut bytes = self.head(200, content_type, BodyEnd::Length(body.len()));
        bytes.push_str(body);
        client.write_all(bytes.as_bytes()).await
    }

    pub(crate) async fn refuse(
        &self,
        client: &mut ClientStream,
        error: &ErrorReply,
    ) -> io::Result<Stamp> {
        let body = error.body_for(self.kind);
        let length = BodyEnd::Length(body.len());
        let mut bytes = self.head_with(error.status_for(self.kind), JSON, length, error.header);
        bytes.push_str(&body);
        client.write_all(bytes.as_bytes()).await
    }
}
