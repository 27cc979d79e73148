//! Finds the API of a server.

use super::error::{PreflightError, is_page};
use super::prober::Prober;
use super::request::Question;
use super::site::{Site, read_models, split_path, unsupported};
use crate::api::model_in;
use crate::plain::get;
use crate::setup::Route;
use inferometer_core::record::{Failure, FailureClass};

impl Prober {
    pub(super) async fn find_site(&self, place: usize) -> Result<Site, PreflightError> {
        let target = &self.request.targets[place];
        let foreign = unsupported(&target.path);
        let (base, named) = match foreign {
            Some(end) => {
                let base = target.path.trim_end_matches('/').strip_suffix(end);
                (base.unwrap_or_default().to_owned(), None)
            }
            None => split_path(&target.path),
        };
        let mut site = Site {
            network: self.request.networks[place].clone(),
            url: target.to_string(),
            prefix: base.strip_suffix("/v1").unwrap_or(&base).to_owned(),
            base: base.clone(),
            named,
            model_in_path: model_in(&target.path).map(str::to_owned),
            models: Vec::new(),
            empty_list: None,
            models_said: String::new(),
            page: None,
            software: None,
        };
        if let Some(path) = foreign {
            let error = PreflightError::Unsupported {
                url: site.url.clone(),
                path,
                offers: String::new(),
            };
            return Err(self.with_offers(&site, error).await);
        }
        if self.request.raw.is_some() {
            // The URL is the whole address, and nothing else is known of the server.
            site.base.clone_from(&target.path);
            return Ok(site);
        }
        let versioned = |base: &str| {
            let last = base.rsplit('/').next().unwrap_or_default();
            last.starts_with('v') && last[1..].chars().all(|c| c.is_ascii_digit()) && last.len() > 1
        };
        // A path that names the API, or its version, is taken as it is; models may be listed
        // beside it.
        let candidates = if versioned(&base) {
            vec![base]
        } else if named.is_some() {
            vec![base.clone(), format!("{base}/v1")]
        } else {
            vec![format!("{base}/v1"), base]
        };
        site.base = candidates[0].clone();
        for candidate in &candidates {
            let path = format!("{candidate}/models");
            let route = Route::new(site.network.clone(), &path, self.request.headers.clone());
            let timeouts = self.look_timeouts();
            self.waits_for(&route.url, Question::Models, timeouts);
            let reply = get(&route, &route.path, timeouts)
                .await
                .map_err(|failure| self.no_models(&site.url, &path, &failure))?;
            if site.software.is_none() {
                site.software = self.name_software(&site, &reply).await;
            }
            self.check_access(&route.url, reply.status, &reply.body)?;
            site.models_said = format!("{path}: status {}", reply.status);
            site.page = is_page(&reply.body).then_some(reply.status);
            if reply.status == 200
                && let Some(models) = read_models(&reply.body)
            {
                if named.is_none() {
                    site.base = candidate.clone();
                }
                site.empty_list = models.is_empty().then_some(path);
                site.models = models;
                break;
            }
        }
        Ok(site)
    }
    /// Why there is no list of models. A server that takes the connection and then says nothing
    /// is there, and busy or stuck.
    fn no_models(&self, url: &str, path: &str, failure: &Failure) -> PreflightError {
        if failure.class != FailureClass::ReadTimeout {
            return self.unreachable(url, failure);
        }
        PreflightError::Silent {
            url: url.to_owned(),
            asked: format!("what models it serves ({path})"),
            why: failure.detail.clone(),
            remedy: "it takes connections and says nothing: look at its log, start it again, or raise --read-timeout"
                .into(),
        }
    }
}
