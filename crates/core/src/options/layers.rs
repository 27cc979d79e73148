//! Options laid over one another: flag over environment over file.

use super::*;

/// Lays one set of options over another; the compiler sees that no field is left out.
macro_rules! layered {
    ($type:ident { $($option:ident),+ ; $($switch:ident),* }) => {
        impl $type {
            fn over(self, below: Self) -> Self {
                $type {
                    $($option: self.$option.or(below.$option),)+
                    $($switch: self.$switch || below.$switch,)*
                }
            }
        }
    };
}

layered!(RunOptions { label, tag, seed, keep_text, price_per_hour; });
layered!(ConnectionOptions {
    url, sim_model, sim_device, sim_clock, api, raw_body, raw_text, raw_tokens, raw_end, model, stream, header, header_names, api_key_env, api_key_file, ca, client_cert,
    client_key, insecure, proxy, source_address, connect_timeout, read_timeout, request_timeout, give_up_after,
    server_metrics, server_traces, profile, workers; no_stream
});
layered!(LoadOptions {
    concurrency, rate, arrival, burstiness, stagger, ramp, ramp_from, ramp_over, speed,
    max_concurrency, requests, duration, warmup, hold, cancel, drain, soak, stop_when, until;
});
layered!(WorkOptions {
    prompt, data, data_format, field, filter, limit, shuffle, min_prompt, max_prompt, skip_bad,
    from, window, block_tokens, input_tokens, output_tokens, length_pairs, workload, text, prefix_tokens,
    prefix_groups, prefix_spread, cache_hit, batch_size, turns, think, history, template, input_chars,
    ask_chars, tokenizer, as_token_ids, max_tokens, min_tokens, ignore_eos, temperature, top_p,
    stop, extra, images, video, audio, tools, json_schema, cache_nonce; no_ignore_eos, no_cache_nonce
});
layered!(ObjectiveOptions { slo, attainment, check, threshold; });

impl Options {
    /// Reads options from a TOML file's text.
    pub fn from_toml(text: &str) -> Result<Options, OptionError> {
        toml::from_str(text).map_err(|error: toml::de::Error| {
            let before = error.span().and_then(|span| text.get(..span.start));
            let line = before.map(|before| before.matches('\n').count() + 1);
            let place = line.map_or(String::new(), |line| format!("line {line}: "));
            let said = error.message().trim().replace('\n', " ");
            OptionError::File(format!("{place}{said}"))
        })
    }

    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("options hold only what TOML can say")
    }

    /// These options where given, else those below. An option given above also silences its
    /// alternatives below: `--rate` on the command line wins over `concurrency` in the file.
    pub fn over(self, mut below: Options) -> Options {
        let load = &self.load;
        if load.rate.is_some() {
            (below.load.concurrency, below.load.stagger) = (None, None);
        }
        if load.concurrency.is_some() {
            below.load = LoadOptions {
                rate: None,
                arrival: None,
                burstiness: None,
                ramp: None,
                ramp_from: None,
                ramp_over: None,
                speed: None,
                max_concurrency: None,
                ..below.load
            };
        }
        if load.requests.is_some() || load.duration.is_some() || load.soak.is_some() {
            (below.load.requests, below.load.duration, below.load.soak) = (None, None, None);
        }
        self.work.silence(&mut below.work);
        let work = &self.work;
        if work.no_ignore_eos {
            below.work.ignore_eos = None;
        }
        if work.no_cache_nonce {
            below.work.cache_nonce = None;
        }
        if self.connection.no_stream {
            below.connection.stream = None;
        }
        if self.connection.api_key_file.is_some() {
            below.connection.api_key_env = None;
        }
        if self.connection.api_key_env.is_some() {
            below.connection.api_key_file = None;
        }
        Options {
            run: self.run.over(below.run),
            connection: self.connection.over(below.connection),
            load: self.load.over(below.load),
            work: self.work.over(below.work),
            objectives: self.objectives.over(below.objectives),
        }
    }
}

impl WorkOptions {
    /// Another source of prompts above silences the whole source below; another length of
    /// answers above silences the one below.
    fn silence(&self, below: &mut WorkOptions) {
        let same_source = self.source().is_none() || self.source() == below.source();
        if !same_source {
            *below = WorkOptions {
                output_tokens: below.output_tokens.take(),
                max_tokens: below.max_tokens.take(),
                text: below.text.take(),
                tokenizer: below.tokenizer.take(),
                turns: below.turns.take(),
                think: below.think.take(),
                batch_size: below.batch_size.take(),
                as_token_ids: below.as_token_ids.take(),
                min_tokens: below.min_tokens.take(),
                ignore_eos: below.ignore_eos.take(),
                no_ignore_eos: below.no_ignore_eos,
                temperature: below.temperature.take(),
                top_p: below.top_p.take(),
                stop: below.stop.take(),
                extra: below.extra.take(),
                images: below.images.take(),
                video: below.video.take(),
                audio: below.audio.take(),
                tools: below.tools.take(),
                json_schema: below.json_schema.take(),
                cache_nonce: below.cache_nonce.take(),
                no_cache_nonce: below.no_cache_nonce,
                ..WorkOptions::default()
            };
        }
        if self.input_tokens.is_some() || self.length_pairs.is_some() || self.workload.is_some() {
            (below.input_tokens, below.length_pairs, below.workload) = (None, None, None);
        }
        if self.input_tokens.is_some() {
            below.input_chars = None;
        }
        if self.input_chars.is_some() {
            below.input_tokens = None;
        }
        if self.prefix_tokens.is_some() {
            below.cache_hit = None;
        }
        if self.cache_hit.is_some() {
            below.prefix_tokens = None;
        }
        if self.output_tokens.is_some() || self.max_tokens.is_some() || self.length_pairs.is_some()
        {
            (below.output_tokens, below.max_tokens) = (None, None);
        }
    }
}
