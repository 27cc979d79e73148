//! What a server has in place of what was asked for, in a clause for an error.

use super::error::PreflightError;
use super::prober::Prober;
use super::site::Site;
use crate::api::forms;
use crate::connect::Network;
use crate::exchange::Timeouts;
use crate::plain::{get, post};
use crate::setup::Route;
use inferometer_core::api::Api;
use inferometer_text::hostile::printable;
use serde_json::Value;
use std::time::Duration;
use strum::VariantArray as _;

/// How long an answer may take that nobody has asked for.
const LONGEST_LOOK: Duration = Duration::from_secs(3);
/// A server that has this path says nothing by having others.
const NOWHERE: &str = "/inferometer-no-such-path";
/// What no server takes for a request. An empty object may be one with an empty prompt, which has
/// killed the worker of a server (transformers 5.22).
const NO_REQUEST: &[u8] = b"{";
/// Paths of a service that is none of ours.
const MOST_PATHS: usize = 6;

impl Prober {
    /// Says in an error what the server has, where it lacks what was asked for.
    pub(super) async fn with_offers(
        &self,
        site: &Site,
        mut error: PreflightError,
    ) -> PreflightError {
        if let PreflightError::NoApi { offers, .. }
        | PreflightError::NoModel { offers, .. }
        | PreflightError::Unsupported { offers, .. } = &mut error
            && self.request.raw.is_none()
        {
            *offers = self.offers(site).await.unwrap_or_default();
        }
        error
    }

    /// The APIs at the address; else those of the whole server; else paths of which it tells itself.
    async fn offers(&self, site: &Site) -> Option<String> {
        if self.has(&self.path(site, NOWHERE)).await? {
            return None;
        }
        let root = Site {
            base: "/v1".to_owned(),
            prefix: String::new(),
            ..site.clone()
        };
        let offered = self.offered_at(site).await?;
        if !offered.is_empty() {
            return Some(format!("; it offers {offered}: choose one with --api"));
        }
        if (&site.base, &site.prefix) != (&root.base, &root.prefix) {
            let offered = self.offered_at(&root).await?;
            if !offered.is_empty() {
                return Some(format!(
                    "; without this path it offers {offered}: choose one with --api"
                ));
            }
        }
        let paths = self.told_paths(&root).await?;
        Some(format!("; it has {paths}, of which --api raw asks any"))
    }

    /// The APIs that are there; nothing where the server does not answer.
    async fn offered_at(&self, site: &Site) -> Option<String> {
        let mut offered = Vec::new();
        for &api in Api::VARIANTS.iter().filter(|api| **api != Api::Auto) {
            for form in forms(api) {
                if self.has(&self.route_of(site, *form)).await? {
                    offered.push(api.into_str());
                    break;
                }
            }
        }
        Some(offered.join(", "))
    }

    /// Whether something is there: it finds fault with the body.
    async fn has(&self, route: &Route<Network>) -> Option<bool> {
        let reply = post(route, &route.path, NO_REQUEST, self.short())
            .await
            .ok()?;
        Some(!matches!(reply.status, 404 | 405 | 501))
    }

    /// What the server's own description has.
    async fn told_paths(&self, site: &Site) -> Option<String> {
        let route = self.path(site, "/openapi.json");
        let reply = get(&route, &route.path, self.short()).await.ok()?;
        let told: Value = serde_json::from_str(&reply.body).ok()?;
        let paths = told["paths"].as_object()?.iter();
        let posted = paths.filter(|(_, methods)| methods.get("post").is_some());
        let posted: Vec<String> = (posted.map(|(path, _)| printable(path, 60)))
            .take(MOST_PATHS)
            .collect();
        (!posted.is_empty()).then(|| posted.join(", "))
    }

    fn path(&self, site: &Site, path: &str) -> Route<Network> {
        let path = format!("{}{path}", site.prefix);
        Route::new(site.network.clone(), &path, self.request.headers.clone())
    }

    fn short(&self) -> Timeouts {
        let Timeouts { read, request } = self.look_timeouts();
        Timeouts {
            read: read.min(LONGEST_LOOK),
            request: request.min(LONGEST_LOOK),
        }
    }
}
