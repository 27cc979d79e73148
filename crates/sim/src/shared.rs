//! What all connections of a server share.

use std::{
    collections::HashSet,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use inferometer_catalog::engine::EngineKind;
use tokio::sync::Notify;
use tokio_rustls::TlsAcceptor;

use crate::{
    config::Config,
    engine_driver::{Death, EngineDriver},
    http::Request,
    metrics::Metrics,
    tokenizer::Vocabulary,
    truth::TruthSink,
};

pub(crate) struct Shared {
    pub(crate) config: Config,
    pub(crate) metrics: Metrics,
    pub(crate) truth: TruthSink,
    /// Where an engine decides when tokens come.
    pub(crate) driver: Option<Arc<EngineDriver>>,
    pub(crate) vocabulary: Mutex<Vocabulary>,
    /// Requests for tokens so far; their order decides on faults and lengths.
    pub(crate) requests: AtomicU64,
    pub(crate) tls: Option<TlsAcceptor>,
    pub(crate) loaded_adapters: Mutex<HashSet<String>>,
    pub(crate) answered: AtomicU64,
    pub(crate) dying: Notify,
}

impl Shared {
    /// Whose endpoints and answers these are; `None` without an engine.
    pub(crate) fn kind(&self) -> Option<EngineKind> {
        self.driver.as_ref().map(|driver| driver.setup().kind)
    }

    pub(crate) fn died(&self) -> Option<Death> {
        self.driver.as_ref()?.died()
    }

    /// Counts an answer, and dies after as many as the faults say: no connection answers
    /// after that, though the server may need a moment to end.
    pub(crate) async fn answered(&self) {
        let answered = self.answered.fetch_add(1, Relaxed) + 1;
        let limit = self.config.faults.die_after;
        if limit.is_some_and(|limit| answered >= u64::from(limit.get())) {
            self.truth.dying();
            self.dying.notify_one();
            std::future::pending::<()>().await;
        }
    }

    pub(crate) fn authorizes(&self, request: &Request) -> bool {
        let Some(key) = &self.config.api_key else {
            return true;
        };
        let token = request.authorization.as_deref();
        token.and_then(|text| text.strip_prefix("Bearer ")) == Some(key)
    }
}
