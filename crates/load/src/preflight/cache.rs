//! The prefix cache of servers that let it be emptied.

use super::ServerProfile;
use crate::exchange::Timeouts;
use crate::plain::post;
use std::time::Duration;

/// Tries while a server still holds blocks of the last requests.
const TRIES: u32 = 5;

impl ServerProfile {
    /// Lets every server forget the prompts that it has seen. Whether all of them did: vLLM has
    /// `/reset_prefix_cache`, in its development mode only, and SGLang `/flush_cache`.
    pub async fn empty_cache(&self, timeouts: Timeouts) -> bool {
        for (route, paths) in self.routes.iter().zip(&self.empty_cache) {
            let mut emptied = false;
            'tries: for attempt in 0..TRIES {
                // What was just answered may hold its blocks for a moment.
                tokio::time::sleep(Duration::from_millis(200) * attempt.min(1)).await;
                for path in paths {
                    match post(route, path, b"", timeouts).await {
                        Ok(reply) if reply.status == 200 => {
                            emptied = true;
                            break 'tries;
                        }
                        Ok(reply) if reply.status == 404 || reply.status == 405 => {}
                        // It knows the path and is not ready.
                        Ok(_) => continue 'tries,
                        Err(_) => break 'tries,
                    }
                }
                break;
            }
            if !emptied {
                return false;
            }
        }
        true
    }
}
