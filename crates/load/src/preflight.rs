//! The preflight: finds the endpoint and the model, and learns with a request or two what the
//! server understands, so that only that is sent and the run can say so.

mod error;
mod explain;
mod find;
mod learn;
mod offers;
mod prober;
mod profile;
mod request;
mod site;
mod software;

pub use error::{PreflightError, unreachable};
pub use prober::TOKENS as ANSWER_TOKENS;
pub use profile::ServerProfile;
pub use request::{PreflightRequest, PreflightStep, Question, StepSender};

use crate::api::Prompt;
use inferometer_core::api::{Answers, Api};
use inferometer_core::content::Content;
use inferometer_core::environment::Probe;
use inferometer_core::note::Known;
use inferometer_text::hostile::printable;
use prober::Prober;
use site::Site;

pub async fn preflight(request: PreflightRequest) -> Result<ServerProfile, PreflightError> {
    let mut prober = Prober::new(request);
    prober.check_answers()?;
    let mut sites = Vec::new();
    for place in 0..prober.request.targets.len() {
        sites.push(prober.find_site(place).await?);
    }
    if let Err(error) = prober.choose_model(&sites) {
        return Err(prober.with_offers(&sites[0], error).await);
    }
    prober.check_context(&sites)?;
    let first = &sites[0];
    prober.learn(first).await?;
    for site in &sites[1..] {
        prober.confirm(site).await?;
    }
    prober.probe.software = first.software.clone();
    Ok(prober.finish(sites))
}

impl Prober {
    fn choose_model(&mut self, sites: &[Site]) -> Result<(), PreflightError> {
        let first = &sites[0];
        self.probe.models = first.names();
        let named = self.request.models.first().or(first.model_in_path.as_ref());
        self.options.model = match (named, first.models.first()) {
            (Some(model), _) => model.clone(),
            (None, Some(model)) => model.name.clone(),
            // The one that the server has.
            (None, None) if self.model_goes_without_saying() => String::new(),
            (None, None) => {
                if let Some(status) = first.page {
                    return Err(PreflightError::WebPage {
                        url: first.url.clone(),
                        status,
                    });
                }
                if let Some(path) = &first.empty_list {
                    return Err(PreflightError::EmptyList {
                        url: first.url.clone(),
                        path: path.clone(),
                    });
                }
                return Err(PreflightError::NoModel {
                    url: first.url.clone(),
                    said: first.models_said.clone(),
                    offers: String::new(),
                });
            }
        };
        self.probe.max_model_len = first.context_of(&self.options.model);
        // Of a mix that the server lists in part, the others are not there; a server that lists none
        // of them may serve any name.
        let listed = |name: &String| first.models.iter().any(|model| model.name == *name);
        let asked = &self.request.models;
        if let Some(missing) = asked.iter().find(|name| !listed(name))
            && asked.iter().any(listed)
        {
            return Err(PreflightError::ModelNotServed {
                url: first.url.clone(),
                model: printable(missing, 80),
                said: String::new(),
                served: printable(&first.names().join(", "), 300),
            });
        }
        if asked.is_empty() && first.models.len() > 1 {
            self.note(Known::ManyModels {
                count: first.models.len() as u64,
                model: printable(&self.options.model, 80),
            });
        }
        Ok(())
    }

    /// Endpoints of which many servers have but one model, and list none.
    fn model_goes_without_saying(&self) -> bool {
        let api = self.request.api;
        api.answers() == Answers::Items || matches!(api, Api::Generate | Api::Raw)
    }

    /// Rows of the work may ask for several answers, or for a stream where there is none, as
    /// options may not.
    fn check_answers(&self) -> Result<(), PreflightError> {
        let api = self.request.api;
        let row = Prompt::from(&self.request.content);
        if api.answers() == Answers::Items && row.streams(&self.request.options) {
            return Err(PreflightError::NoStream {
                api: api.into_str(),
            });
        }
        match answers_asked(&self.request.content) {
            Some(n) if n > 1 => Err(PreflightError::ManyAnswers { n }),
            _ => Ok(()),
        }
    }

    fn check_context(&self, sites: &[Site]) -> Result<(), PreflightError> {
        let context = sites[0].context_of(&self.options.model);
        let (Some((input, output)), Some(most)) = (self.request.longest, context) else {
            return Ok(());
        };
        let asked = u64::from(input) + u64::from(output);
        if asked <= most {
            return Ok(());
        }
        Err(PreflightError::Context {
            said: format!("{input} input and {output} output tokens, and the server states {most}"),
        })
    }

    fn finish(self, sites: Vec<Site>) -> ServerProfile {
        let routes: Vec<_> = sites.iter().map(|site| self.route(site)).collect();
        let health = sites
            .iter()
            .map(|site| {
                let path = |path: String| site.network.request_path(&path);
                [
                    path(format!("{}/health", site.prefix)),
                    path(format!("{}/models", site.base)),
                ]
            })
            .collect();
        let empty_cache = (sites.iter())
            .map(|site| {
                ["reset_prefix_cache", "flush_cache"]
                    .map(|name| (site.network).request_path(&format!("{}/{name}", site.prefix)))
            })
            .collect();
        let first = &sites[0];
        let tokenize = (first.network).request_path(&format!("{}/tokenize", first.prefix));
        let probe = Probe {
            endpoints: routes.iter().map(|route| route.url.clone()).collect(),
            api: self.dialect.name().to_owned(),
            model: self.options.model.clone(),
            limit_field: self.options.limit_field,
            ..self.probe
        };
        ServerProfile {
            routes,
            dialect: self.dialect,
            options: self.options,
            probe,
            notes: self.notes,
            counts_output: self.counts_output,
            health,
            empty_cache,
            tokenize,
        }
    }
}

fn answers_asked(content: &Content) -> Option<u64> {
    let Content::Body(body) = content else {
        return None;
    };
    let body: serde_json::Value = serde_json::from_str(body).ok()?;
    body["n"].as_u64()
}
