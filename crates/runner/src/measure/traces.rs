//! The server's own traces of the measured requests, received while they are under way.

use crate::error::{Context as _, RunnerError};
use crate::observer::Observer;
use inferometer_core::scenario::Connection;
use inferometer_engine::TraceReceiver;
use inferometer_store::run_dir::RunDir;
use std::time::Duration;

/// How long late traces are waited for: exporters of OpenTelemetry send every five seconds.
const LATE: Duration = Duration::from_secs(7);

pub struct Traces(TraceReceiver);

impl Traces {
    /// Listens where the user wants it; absent where nobody asked.
    pub fn start(
        connection: &Connection,
        directory: &RunDir,
    ) -> Result<Option<Traces>, RunnerError> {
        let Some(listen) = connection.server_traces else {
            return Ok(None);
        };
        let receiver = TraceReceiver::start(listen, &directory.spans_path());
        let receiver = receiver.context("--server-traces")?;
        Ok(Some(Traces(receiver)))
    }

    /// Takes what is still to come of so many requests, and says why where nothing came.
    pub fn finish(self, requests: u64, observer: &mut dyn Observer) {
        let address = self.0.address();
        self.0.wait_for(requests, LATE);
        let report = self.0.stop();
        if report.spans > 0 {
            return;
        }
        let why = if report.saw_grpc {
            "the server speaks gRPC; set OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/protobuf for it"
                .to_owned()
        } else if report.refused > 0 {
            format!("{} messages could not be read", report.refused)
        } else {
            format!(
                "start vLLM with OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/protobuf and --otlp-traces-endpoint http://{address}/v1/traces"
            )
        };
        observer.notice(format!("--server-traces: none came: {why}"));
    }
}
