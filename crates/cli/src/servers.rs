//! The servers of measurements that follow one another: those that were named, or the embedded
//! engine, which lives as long as it is asked for with the same settings.

use crate::embedded::EmbeddedServer;
use crate::measure::{Measured, Point, measure, simulate, usual_launch};
use crate::progress::Progress;
use inferometer_core::scenario::{Connection, SimClock};
use inferometer_load::http::Target;
use inferometer_load::instrument::Control;
use inferometer_sim::launch::Launch;
use std::path::Path;

/// Servers by need.
#[derive(Default)]
pub struct Servers {
    embedded: Option<Embedded>,
    /// What computed points run on, where it is not the usual engine.
    computed: Option<Box<Launch>>,
}

struct Embedded {
    model: Option<String>,
    device: Option<String>,
    server: EmbeddedServer,
}

impl Servers {
    /// Points in virtual time run on this engine.
    pub fn computing(launch: Launch) -> Servers {
        Servers {
            embedded: None,
            computed: Some(Box::new(launch)),
        }
    }

    /// Measures a point, or computes it in virtual time, and keeps it in `out`.
    pub fn measure(
        &mut self,
        point: Point,
        out: &Path,
        control: &Control,
        progress: &mut Progress,
    ) -> anyhow::Result<Measured> {
        match point.scenario.connection.sim_clock {
            SimClock::Virtual => {
                let lang = progress.lang();
                match &self.computed {
                    Some(launch) => simulate(point, launch, out, lang),
                    None => {
                        let launch = usual_launch(&point.scenario.connection)?;
                        simulate(point, &launch, out, lang)
                    }
                }
            }
            SimClock::Real => {
                let targets = self.of(&point)?;
                measure(point, targets, out, progress.lang(), control, progress)
            }
        }
    }

    /// Where to send the requests of a point.
    fn of(&mut self, point: &Point) -> anyhow::Result<Vec<Target>> {
        if !point.targets.is_empty() {
            return Ok(point.targets.clone());
        }
        let wanted = &point.scenario.connection;
        let fits = |embedded: &Embedded| {
            embedded.model == wanted.sim_model && embedded.device == wanted.sim_device
        };
        let embedded = match self.embedded.take().filter(fits) {
            Some(embedded) => embedded,
            None => start(wanted)?,
        };
        let target = Target::parse(&embedded.server.url)?;
        self.embedded = Some(embedded);
        Ok(vec![target])
    }
}

fn start(connection: &Connection) -> anyhow::Result<Embedded> {
    let mut arguments = vec!["sim", "--listen", "127.0.0.1:0", "--until-stdin-closes"];
    let chosen = [
        ("--model", &connection.sim_model),
        ("--device", &connection.sim_device),
    ];
    for (name, value) in chosen {
        if let Some(value) = value {
            arguments.extend([name, value]);
        }
    }
    Ok(Embedded {
        model: connection.sim_model.clone(),
        device: connection.sim_device.clone(),
        server: EmbeddedServer::start(&arguments)?,
    })
}
