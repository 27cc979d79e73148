//! The API server: one core that takes requests in and sends chunks out, in the order in which
//! they come.

use inferometer_catalog::timing::ApiCost;

use super::{Nanos, nanos};

#[derive(Clone, Debug)]
pub struct ApiServer {
    request: f64,
    prompt_token: f64,
    chunk: Nanos,
    token: Nanos,
    latency: Nanos,
    free_at: Nanos,
}

impl ApiServer {
    pub fn new(cost: ApiCost) -> ApiServer {
        let micro = |us: f64| nanos(us * 1e-6);
        ApiServer {
            request: cost.request_us * 1e-6,
            prompt_token: cost.prompt_token_us * 1e-6,
            chunk: micro(cost.chunk_us),
            token: micro(cost.token_us),
            latency: micro(cost.latency_us),
            free_at: 0,
        }
    }

    /// Takes in a request that arrives now: when the scheduler sees it.
    pub fn accept(&mut self, now: Nanos, prompt_tokens: u32) -> Nanos {
        let cost = nanos(self.request + f64::from(prompt_tokens) * self.prompt_token);
        self.serve(now, cost)
    }

    /// Sends a chunk that the engine has made now: when it leaves.
    pub fn send(&mut self, now: Nanos, tokens: u32) -> Nanos {
        let tokens = self.token.saturating_mul(u64::from(tokens));
        self.serve(now, self.chunk.saturating_add(tokens))
    }

    fn serve(&mut self, now: Nanos, cost: Nanos) -> Nanos {
        self.free_at = self.free_at.max(now).saturating_add(cost);
        self.free_at.saturating_add(self.latency)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_that_come_together_are_taken_in_one_after_the_other() {
        let mut api = ApiServer::new(ApiCost {
            request_us: 1000.0,
            prompt_token_us: 1.0,
            latency_us: 500.0,
            ..ApiCost::FREE
        });
        assert_eq!(api.accept(0, 100), 1_600_000);
        assert_eq!(api.accept(0, 100), 2_700_000);
        assert_eq!(api.accept(10_000_000, 0), 11_500_000);
    }
}
