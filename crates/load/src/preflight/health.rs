//! Whether the servers still answer.

use super::ServerProfile;
use super::error::LONGEST_QUOTE;
use crate::connect::Network;
use crate::exchange::Timeouts;
use crate::plain::get;
use crate::setup::Route;
use inferometer_core::environment::Health;
use inferometer_text::hostile::printable;
use std::time::Duration;

impl ServerProfile {
    pub async fn health(&self, timeouts: Timeouts) -> Health {
        for (route, paths) in self.routes.iter().zip(&self.health) {
            if let Err(said) = is_alive(route, paths, timeouts).await {
                return Health::Dead(format!("{}: {said}", route.url));
            }
        }
        Health::Alive
    }
}

/// What a health probe shows: `/health` decides where there is one, else the list of models.
async fn is_alive(
    route: &Route<Network>,
    [health, models]: &[String; 2],
    timeouts: Timeouts,
) -> Result<(), String> {
    let mut seen = String::new();
    // A server that is just busy gets three chances.
    for pause in [0, 300, 1000] {
        tokio::time::sleep(Duration::from_millis(pause)).await;
        let mut reply = get(route, health, timeouts).await;
        if reply
            .as_ref()
            .is_ok_and(|reply| (400..500).contains(&reply.status))
        {
            reply = get(route, models, timeouts).await;
        }
        match reply {
            Ok(reply) if reply.status < 500 => return Ok(()),
            Ok(reply) => {
                seen = format!(
                    "status {}: {}",
                    reply.status,
                    printable(&reply.body, LONGEST_QUOTE)
                );
            }
            Err(failure) => seen = failure.detail,
        }
    }
    Err(seen)
}
