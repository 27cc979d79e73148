//! Finds the API of a server.

use super::error::{PreflightError, is_page};
use super::prober::Prober;
use super::site::{Site, read_models, split_path};
use crate::plain::get;
use crate::setup::Route;
use inferometer_text::hostile::printable;

impl Prober {
    pub(super) async fn find_site(&self, place: usize) -> Result<Site, PreflightError> {
        let target = &self.request.targets[place];
        let (base, named) = split_path(&target.path);
        let mut site = Site {
            network: self.request.networks[place].clone(),
            url: target.to_string(),
            prefix: base.strip_suffix("/v1").unwrap_or(&base).to_owned(),
            base: base.clone(),
            named,
            models: Vec::new(),
            max_model_len: None,
            models_said: String::new(),
            page: None,
            software: None,
        };
        let versioned = |base: &str| {
            let last = base.rsplit('/').next().unwrap_or_default();
            last.starts_with('v') && last[1..].chars().all(|c| c.is_ascii_digit()) && last.len() > 1
        };
        // A path that names the API, or its version, is taken as it is.
        let candidates = if named.is_some() || versioned(&base) {
            vec![base]
        } else {
            vec![format!("{base}/v1"), base]
        };
        site.base = candidates[0].clone();
        for candidate in &candidates {
            let path = format!("{candidate}/models");
            let route = Route::new(site.network.clone(), &path, self.request.headers.clone());
            let reply = get(&route, &route.path, self.request.timeouts)
                .await
                .map_err(|failure| self.unreachable(&site.url, &failure))?;
            if site.software.is_none() {
                site.software = reply.server.as_deref().map(|text| printable(text, 80));
            }
            self.check_access(&route.url, &reply)?;
            site.models_said = format!("{path}: status {}", reply.status);
            site.page = is_page(&reply.body).then_some(reply.status);
            if reply.status == 200
                && let Some((models, longest)) = read_models(&reply.body)
            {
                site.base = candidate.clone();
                site.models = models;
                site.max_model_len = longest;
                break;
            }
        }
        Ok(site)
    }
}
