//! Whether the servers still answer.

use super::{Learned, SAID};
use crate::connect::Network;
use crate::exchange::Timeouts;
use crate::plain::get;
use crate::setup::Way;
use inferometer_core::environment::Health;
use inferometer_text::hostile::printable;
use std::time::Duration;

impl Learned {
    /// Whether the servers still answer.
    pub async fn health(&self, timeouts: Timeouts) -> Health {
        for (way, paths) in self.ways.iter().zip(&self.health) {
            if let Err(said) = is_alive(way, paths, timeouts).await {
                return Health::Dead(format!("{}: {said}", way.url));
            }
        }
        Health::Alive
    }
}

/// What a health probe shows: `/health` decides where there is one, else the list of models.
async fn is_alive(
    way: &Way<Network>,
    [health, models]: &[String; 2],
    timeouts: Timeouts,
) -> Result<(), String> {
    let mut seen = String::new();
    // A server that is just busy gets three chances.
    for pause in [0, 300, 1000] {
        tokio::time::sleep(Duration::from_millis(pause)).await;
        let mut reply = get(way, health, timeouts).await;
        if reply
            .as_ref()
            .is_ok_and(|reply| (400..500).contains(&reply.status))
        {
            reply = get(way, models, timeouts).await;
        }
        match reply {
            Ok(reply) if reply.status < 500 => return Ok(()),
            Ok(reply) => {
                seen = format!("status {}: {}", reply.status, printable(&reply.body, SAID));
            }
            Err(failure) => seen = failure.detail,
        }
    }
    Err(seen)
}
