//! The words of a name, and what groups of them say.

use crate::quantity::Unit;

/// The words of a label, in lower case and without its percentile.
pub(super) struct Words<'a> {
    pub(super) text: &'a str,
    /// Unit written in the label.
    pub(super) unit: Option<Unit>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    Server,
    /// One user, stream or request.
    User,
    /// One of the server's cards.
    Card,
}

impl Words<'_> {
    /// Whether it contains any of `a|b|c`.
    pub(super) fn any(&self, parts: &str) -> bool {
        parts.split('|').any(|part| self.text.contains(part))
    }

    /// Whether it is any of `a|b|c`.
    pub(super) fn is(&self, names: &str) -> bool {
        names.split('|').any(|name| name == self.text)
    }

    /// Whether one of its words is any of `a|b|c`.
    pub(super) fn has_word(&self, words: &str) -> bool {
        let mut own = self.text.split(' ');
        own.any(|own| words.split('|').any(|word| word == own))
    }

    pub(super) fn throughput(&self) -> bool {
        let mut words = self.text.split([' ', '/']);
        self.any("throughput|吞吐") || words.any(|word| word == "tput")
    }

    pub(super) fn per_second(&self) -> bool {
        self.throughput()
            || matches!(
                self.unit,
                Some(Unit::TokensPerSecond | Unit::CharsPerSecond)
            )
            || self.any("/second|/s|per second|/sec|每秒|速度|speed|tps")
    }

    pub(super) fn input(&self) -> bool {
        self.any("input|prompt|prefill|输入") || self.has_word("isl")
    }

    pub(super) fn output(&self) -> bool {
        self.any("output|generat|completion|decode|输出|生成") || self.has_word("osl|gen.|gen/s")
    }

    pub(super) fn total(&self) -> bool {
        self.any("total|总")
    }

    pub(super) fn token(&self) -> bool {
        self.any("token|tok|词元|tps") || self.unit == Some(Unit::TokensPerSecond)
    }

    /// Whether it names a time, by a word or by its unit.
    pub(super) fn is_time(&self) -> bool {
        self.unit.is_some_and(|unit| unit.in_ms().is_some())
            || self.any("latency|time|时延|延迟|耗时|时间")
    }

    pub(super) fn scope(&self) -> Scope {
        let of_card = "单卡|每卡|卡均|/卡|单gpu|每gpu|单npu|每npu|per gpu|per card|per npu|\
            per device|per chip|/gpu|/card|/npu|/device|/chip";
        let of_user = "单路|每路|单流|单并发|每并发|每个并发|单用户|每用户|每个用户|终端用户|\
            人均|单请求|单个请求|每请求|每个请求|per user|per client|per stream|per session|\
            per req|per seq|/user|/client|/stream|/session|/req|/seq|generatedtokenspeed";
        if self.any(of_card) {
            Scope::Card
        } else if self.any(of_user) {
            Scope::User
        } else {
            Scope::Server
        }
    }
}
