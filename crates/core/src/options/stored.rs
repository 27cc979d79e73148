//! From a scenario back to options that resolve to it: what `scenario.toml` holds.

use super::*;

impl Scenario {
    /// Options that resolve to this scenario: what `scenario.toml` holds. Header values are
    /// not in it.
    pub fn options(&self) -> Options {
        let filled = |list: &[String]| (!list.is_empty()).then(|| list.to_vec());
        let connection = &self.connection;
        let raw = connection.raw.as_ref();
        Options {
            run: RunOptions {
                label: self.label.clone(),
                tag: (!self.tags.is_empty()).then(|| self.tags.clone()),
                seed: Some(self.seed),
                keep_text: self.keep_text.then_some(true),
                price_per_hour: self.price_per_hour.map(Positive),
            },
            connection: ConnectionOptions {
                url: filled(&connection.urls),
                sim_model: connection.sim_model.clone(),
                sim_device: connection.sim_device.clone(),
                sim_clock: (connection.sim_clock == SimClock::Virtual).then_some(SimClock::Virtual),
                api: Some(connection.api),
                raw_body: raw.map(|raw| raw.body.clone()),
                raw_text: raw.map(|raw| raw.text.clone()),
                raw_tokens: raw.and_then(|raw| raw.tokens.clone()),
                raw_end: raw.and_then(|raw| raw.end.clone()),
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
                source_address: (!connection.source_addresses.is_empty())
                    .then(|| connection.source_addresses.clone()),
                connect_timeout: Some(connection.connect_timeout),
                read_timeout: Some(connection.read_timeout),
                request_timeout: Some(connection.request_timeout),
                give_up_after: Some(connection.give_up_after),
                server_metrics: Some(connection.server_metrics.clone())
                    .filter(|metrics| *metrics != ServerMetrics::Auto),
                server_traces: connection.server_traces,
                profile: connection.profile.then_some(true),
                workers: connection.workers.map(|count| Count(u64::from(count))),
            },
            load: self.load.options(),
            work: self.work.options(),
            objectives: ObjectiveOptions {
                slo: (!self.objectives.slos.is_empty()).then(|| self.objectives.slos.clone()),
                attainment: self.objectives.attainment,
                check: self.objectives.check.clone(),
                threshold: Some(self.objectives.thresholds.changed())
                    .filter(|changed| !changed.is_empty()),
            },
        }
    }
}

fn count(count: u32) -> Count {
    Count(u64::from(count))
}

// Every field of a scenario is named below, so that the compiler lists what a new one still lacks;
// a test has every option.

impl Load {
    fn options(&self) -> LoadOptions {
        let Load {
            shape,
            extent,
            warmup,
            hold,
            cancel,
            drain,
            stop_when,
            until,
        } = self;
        let mut options = LoadOptions {
            requests: extent.requests().map(Count),
            warmup: Some(*warmup),
            hold: Some(*hold),
            cancel: *cancel,
            drain: *drain,
            stop_when: (!stop_when.is_empty()).then(|| stop_when.clone()),
            until: *until,
            ..LoadOptions::default()
        };
        match extent {
            Extent::Soak(span) => options.soak = Some(*span),
            Extent::Requests(_) | Extent::Duration(_) | Extent::Either(..) | Extent::All => {
                options.duration = extent.duration();
            }
        }
        match shape {
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
                options.max_concurrency = max_concurrency.map(count);
                (options.arrival, options.burstiness) = match arrival {
                    Arrival::Constant => (Some(ArrivalName::Constant), None),
                    Arrival::Poisson => (Some(ArrivalName::Poisson), None),
                    Arrival::Gamma(shape) => (Some(ArrivalName::Gamma), Some(Positive(*shape))),
                };
                if let Some(Ramp { curve, from, over }) = *ramp {
                    options.ramp = Some(curve);
                    options.ramp_from = Some(Positive(from));
                    options.ramp_over = Some(over);
                }
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

impl Work {
    fn options(&self) -> WorkOptions {
        let Work {
            prompts,
            output,
            tokenizer,
            conversation,
            batch_size,
            as_token_ids,
            ignore_eos,
            min_tokens,
            temperature,
            top_p,
            stop,
            extra,
            media,
            tools,
            json_schema,
            cache_nonce,
        } = self;
        let source = prompts.options();
        let (output_tokens, max_tokens) = match output {
            Output::Tokens(spec) => (Some(OutputSpec::Tokens(spec.clone())), None),
            Output::AtMost(limit) => (None, Some(count(*limit))),
            Output::Free => (Some(OutputSpec::Free), None),
            // Pairs say it themselves.
            Output::FromWork if source.length_pairs.is_some() => (None, None),
            Output::FromWork => (Some(OutputSpec::Data), None),
        };
        let talk = conversation.as_ref();
        WorkOptions {
            tokenizer: tokenizer.clone(),
            batch_size: batch_size.map(count),
            as_token_ids: as_token_ids.then_some(true),
            cache_nonce: self.makes_content().then_some(*cache_nonce),
            min_tokens: *min_tokens,
            ignore_eos: Some(*ignore_eos),
            temperature: *temperature,
            top_p: *top_p,
            stop: (!stop.is_empty()).then(|| stop.clone()),
            extra: extra.clone(),
            images: media.images.clone(),
            video: media.video.clone(),
            audio: media.audio.clone(),
            tools: tools.clone(),
            json_schema: json_schema.clone(),
            output_tokens,
            max_tokens,
            turns: talk.and_then(|talk| talk.turns.clone()),
            think: talk.and_then(|talk| talk.think),
            history: talk
                .filter(|_| !prompts.is_synthetic_trace())
                .map(|talk| talk.history),
            ..source
        }
    }
}

impl PromptSource {
    /// The options that name this source; all others are absent.
    fn options(&self) -> WorkOptions {
        let mut options = WorkOptions::default();
        match self {
            PromptSource::Text(text) => options.prompt = Some(text.clone()),
            PromptSource::Data(DataSource {
                location,
                format,
                field,
                filter,
                limit,
                shuffle,
                min_prompt,
                max_prompt,
                skip_bad,
                window: Window { from, length },
                block_tokens,
            }) => {
                options.data = Some(location.clone());
                options.data_format = format.map(|format| FormatName(Some(format)));
                options.field = field.clone();
                options.filter = *filter;
                options.limit = limit.map(Count);
                options.shuffle = shuffle.then_some(true);
                options.min_prompt = *min_prompt;
                options.max_prompt = *max_prompt;
                options.skip_bad = skip_bad.then_some(true);
                options.from = (*from != Span::default()).then_some(*from);
                options.window = *length;
                options.block_tokens = block_tokens.map(count);
            }
            PromptSource::Continuation(Continuation {
                location,
                piece,
                ask_chars,
                template,
            }) => {
                options.data = location.clone();
                options.template = Some(template.clone());
                options.ask_chars = Some(count(*ask_chars));
                match *piece {
                    PromptLength::Tokens(length) => {
                        options.input_tokens = Some(LengthSpec::fixed(length));
                    }
                    PromptLength::Chars(length) => options.input_chars = Some(count(length)),
                }
            }
            PromptSource::Synthetic(Synthetic {
                lengths,
                language,
                prefix,
            }) => {
                options.text = (*language != Language::En).then_some(*language);
                match lengths {
                    SyntheticLengths::Input(spec) => options.input_tokens = Some(spec.clone()),
                    SyntheticLengths::Pairs(pairs) => options.length_pairs = Some(pairs.clone()),
                }
                if let Some(prefix) = prefix {
                    options.prefix_groups = Some(count(prefix.groups));
                    options.prefix_spread = Some(prefix.spread);
                    match prefix.length {
                        PrefixLength::Tokens(tokens) => options.prefix_tokens = Some(count(tokens)),
                        PrefixLength::Share(share) => options.cache_hit = Some(share),
                    }
                }
            }
        }
        options
    }
}
