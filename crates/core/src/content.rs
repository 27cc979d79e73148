//! What a request says, in the form in which the work holds it.

use std::sync::Arc;

/// What is sent as a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    Text(Arc<str>),
    /// A JSON array of messages, as chat takes it.
    Messages(Arc<str>),
    /// A JSON object whose fields win over ours.
    Body(Arc<str>),
    TokenIds(Arc<[u32]>),
    /// Several in one request: texts to embed, or a query and its documents.
    Batch(Arc<[Content]>),
}

impl Default for Content {
    fn default() -> Self {
        Content::Text("".into())
    }
}

/// A question and its answer, earlier in a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    pub user: Arc<str>,
    pub assistant: Arc<str>,
}
