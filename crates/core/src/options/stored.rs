//! From a scenario back to options that resolve to it: what `scenario.toml` holds.

use super::work::work_options;
use super::*;

impl Scenario {
    /// Options that resolve to this scenario: what `scenario.toml` holds. Header values are
    /// not in it.
    pub fn options(&self) -> Options {
        let filled = |list: &[String]| (!list.is_empty()).then(|| list.to_vec());
        let connection = &self.connection;
        Options {
            run: RunOptions {
                label: self.label.clone(),
                tag: (!self.tags.is_empty()).then(|| self.tags.clone()),
                seed: Some(self.seed),
            },
            connection: ConnectionOptions {
                url: filled(&connection.urls),
                sim_model: connection.sim_model.clone(),
                sim_device: connection.sim_device.clone(),
                sim_clock: (connection.sim_clock == SimClock::Virtual).then_some(SimClock::Virtual),
                api: Some(connection.api),
                model: connection.model.clone(),
                stream: Some(connection.stream),
                no_stream: false,
                header: None,
                header_names: filled(&connection.headers),
                api_key_env: connection.api_key_env.clone(),
                api_key_file: connection.api_key_file.clone(),
                ca: connection.ca.clone(),
                client_cert: connection.client_cert.clone(),
                client_key: connection.client_key.clone(),
                insecure: Some(connection.insecure),
                proxy: connection.proxy.clone(),
                connect_timeout: Some(connection.connect_timeout),
                read_timeout: Some(connection.read_timeout),
                request_timeout: Some(connection.request_timeout),
                server_metrics: Some(connection.server_metrics.clone())
                    .filter(|metrics| *metrics != ServerMetrics::Auto),
                profile: connection.profile.then_some(true),
                workers: connection.workers.map(|count| Count(u64::from(count))),
            },
            load: self.load.options(),
            work: work_options(&self.work),
            objectives: ObjectiveOptions {
                slo: (!self.objectives.slos.is_empty()).then(|| self.objectives.slos.clone()),
                attainment: self.objectives.attainment,
                threshold: Some(self.objectives.thresholds.changed())
                    .filter(|changed| !changed.is_empty()),
            },
        }
    }
}

impl Load {
    fn options(&self) -> LoadOptions {
        let count = |count: u32| Count(u64::from(count));
        let mut options = LoadOptions {
            requests: self.extent.requests().map(Count),
            warmup: Some(self.warmup),
            drain: self.drain,
            stop_when: (!self.stop_when.is_empty()).then(|| self.stop_when.clone()),
            until: self.until,
            ..LoadOptions::default()
        };
        match self.extent {
            Extent::Soak(span) => options.soak = Some(span),
            Extent::Requests(_) | Extent::Duration(_) | Extent::Either(..) | Extent::All => {
                options.duration = self.extent.duration();
            }
        }
        match &self.shape {
            Shape::Closed {
                concurrency,
                stagger,
            } => {
                options.concurrency = Some(count(*concurrency));
                options.stagger = Some(*stagger);
            }
            Shape::Open {
                rate,
                arrival,
                ramp,
                max_concurrency,
            } => {
                options.rate = Some(*rate);
                (options.arrival, options.burstiness) = match arrival {
                    Arrival::Constant => (Some(ArrivalName::Constant), None),
                    Arrival::Poisson => (Some(ArrivalName::Poisson), None),
                    Arrival::Gamma(shape) => (Some(ArrivalName::Gamma), Some(Positive(*shape))),
                };
                options.ramp = ramp.map(|ramp| ramp.curve);
                options.ramp_from = ramp.map(|ramp| Positive(ramp.from));
                options.ramp_over = ramp.map(|ramp| ramp.over);
                options.max_concurrency = max_concurrency.map(count);
            }
            Shape::Replay {
                speed,
                max_concurrency,
            } => {
                options.speed = Some(Positive(*speed));
                options.max_concurrency = max_concurrency.map(count);
            }
        }
        options
    }
}
