//! The simulated engine as a server.

use std::{
    future::Future,
    io,
    net::SocketAddr,
    path::Path,
    sync::{Arc, Mutex, atomic::AtomicU64},
    time::Duration,
};

use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Notify, mpsc},
    task::JoinSet,
    time::sleep,
};

use crate::{
    client_stream::ClientStream,
    config::Config,
    connection,
    engine::StepRecord,
    engine_driver::{Death, EngineDriver},
    error::SimError,
    line_log::LineLog,
    listen::{is_transient, listen},
    metrics::Metrics,
    shared::Shared,
    span_export::export,
    tls::Tls,
    truth::TruthLog,
};

/// How long the server of a dead engine still answers, so that all who wait hear of it.
const LAST_ANSWERS: Duration = Duration::from_millis(500);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It was asked to stop, or the fault `die-after` stopped it.
    Stopped,
    Died(Death),
}

/// A bound server; connections wait in the kernel until [`serve`](Server::serve).
pub struct Server {
    listener: std::net::TcpListener,
    address: SocketAddr,
    shared: Arc<Shared>,
    truth: Option<TruthLog>,
    steps: Option<LineLog<StepRecord>>,
}

impl Server {
    /// Binds the address and creates the logs. Raises the process's soft limit on open
    /// files to its hard limit, as every stream needs one.
    ///
    /// # Errors
    ///
    /// If the address cannot be bound, a log cannot be created, or the certificates are of no
    /// use.
    pub fn bind(address: SocketAddr, mut config: Config) -> Result<Server, SimError> {
        let tls = config.tls.as_ref().map(Tls::acceptor).transpose()?;
        let (listener, address) = listen(address)?;
        let truth = config.truth.as_deref().map(TruthLog::create).transpose()?;
        let sink = truth.as_ref().map(TruthLog::sink).unwrap_or_default();
        let mut steps = None;
        let driver = config.engine.clone().map(|setup| {
            config.max_model_len = setup.config.max_model_len;
            if let Some(path) = &setup.steps {
                steps = Some(step_log(path)?);
            }
            let sender = steps.as_ref().map(LineLog::sender);
            Ok(Arc::new(EngineDriver::new(setup, config.seed, sender)))
        });
        let driver = driver.transpose()?;
        let shared = Shared {
            config,
            metrics: Metrics::new(),
            truth: sink,
            driver,
            vocabulary: Mutex::default(),
            requests: AtomicU64::new(0),
            tls,
            loaded_adapters: Default::default(),
            answered: AtomicU64::new(0),
            dying: Notify::new(),
        };
        Ok(Server {
            listener,
            address,
            shared: Arc::new(shared),
            truth,
            steps,
        })
    }

    /// The address with the port that was really bound.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `shutdown` is ready, then closes every connection at once and writes
    /// the rest of the logs, requests cut off by the end included. Also returns, as
    /// if it had died, after as many answers as the fault `die-after` says, and when the engine
    /// has died and all who waited for it have heard so.
    ///
    /// Needs a tokio runtime with I/O and time; one thread is enough, and is meant.
    ///
    /// # Errors
    ///
    /// If the listening socket breaks or a log cannot be written.
    pub async fn serve(self, shutdown: impl Future<Output = ()>) -> Result<Ending, SimError> {
        let Server {
            listener,
            shared,
            truth,
            steps,
            ..
        } = self;
        let listener = TcpListener::from_std(listener).map_err(SimError::Accept)?;
        let mut driving = JoinSet::new();
        if let Some(driver) = shared.driver.clone() {
            driving.spawn(async move { driver.drive().await });
        }
        let exporting = shared.driver.as_ref().and_then(|driver| {
            let url = driver.setup().otlp_traces.clone()?;
            let (to, spans) = mpsc::unbounded_channel();
            driver.export_spans(to);
            Some(tokio::spawn(export(url, spans)))
        });
        let mut connections = JoinSet::new();
        let served = accept(listener, &shared, &mut connections, shutdown).await;
        connections.shutdown().await;
        driving.shutdown().await;
        let ending = shared.died().map_or(Ending::Stopped, Ending::Died);
        // The last who may send spans; what they have sent goes out.
        drop(shared);
        if let Some(exporting) = exporting {
            let _ = exporting.await;
        }
        if let Some(steps) = steps {
            let closed = steps.close();
            closed.map_err(|(path, source)| SimError::Steps { path, source })?;
        }
        if let Some(truth) = truth {
            truth.close()?;
        }
        served.map(|()| ending)
    }
}

fn step_log(path: &Path) -> Result<LineLog<StepRecord>, SimError> {
    let log = LineLog::create(path, "step-log", |out, step| {
        serde_json::to_writer(&mut *out, step)?;
        out.write_all(b"\n")
    });
    log.map_err(|source| SimError::Steps {
        path: path.to_owned(),
        source,
    })
}

/// Serves one client; an error is the client's doing and ends nothing else.
async fn serve_one(shared: Arc<Shared>, stream: TcpStream) -> io::Result<()> {
    let client = ClientStream::open(stream, shared.tls.as_ref()).await?;
    connection::serve(shared, client).await
}

async fn accept(
    listener: TcpListener,
    shared: &Arc<Shared>,
    connections: &mut JoinSet<io::Result<()>>,
    shutdown: impl Future<Output = ()>,
) -> Result<(), SimError> {
    let mut shutdown = std::pin::pin!(shutdown);
    let mut last_answers = std::pin::pin!(async {
        match &shared.driver {
            Some(driver) => driver.dying.notified().await,
            None => std::future::pending().await,
        }
        sleep(LAST_ANSWERS).await;
    });
    loop {
        tokio::select! {
            // The end first: under load there is always another connection to accept.
            biased;
            () = shared.dying.notified() => return Ok(()),
            () = &mut last_answers => return Ok(()),
            () = &mut shutdown => return Ok(()),
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(serve_one(Arc::clone(shared), stream));
                }
                Err(error) if is_transient(&error) => sleep(Duration::from_millis(10)).await,
                Err(error) => return Err(SimError::Accept(error)),
            },
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
        }
    }
}
