//! Statistics of a distribution by the words for them.

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stat {
    Mean,
    Std,
    Min,
    Max,
    /// In percent.
    Percentile(f64),
}

impl Stat {
    /// `mean`, `p99`, `平均` …
    pub fn of_word(word: &str) -> Option<Stat> {
        let word = word.trim().to_lowercase();
        Some(match word.as_str() {
            "mean" | "average" | "avg" | "平均" | "平均值" | "均值" => Stat::Mean,
            "std" | "stddev" | "std_dev" | "stdev" | "标准差" => Stat::Std,
            "min" | "minimum" | "最小" | "最小值" => Stat::Min,
            "max" | "maximum" | "最大" | "最大值" => Stat::Max,
            "median" | "mdn" | "med" | "中位数" | "中位" => Stat::Percentile(50.0),
            _ => {
                // As operators write it; below that it is tensor parallelism.
                let top = word.strip_prefix("tp").filter(|rank| {
                    let rank: Option<f64> = rank.parse().ok();
                    rank.is_some_and(|rank| rank == 50.0 || rank >= 75.0)
                });
                let digits = match top.or(word.strip_prefix('p')) {
                    Some(digits) => digits,
                    None => word.strip_suffix(['%', '分'])?,
                };
                // GuideLLM writes p001 for the 0.1th percentile and p999 for the 99.9th.
                let percent: f64 = match digits {
                    "001" => 0.1,
                    "01" => 1.0,
                    "05" => 5.0,
                    "999" => 99.9,
                    _ => digits.parse().ok()?,
                };
                if !(0.0..=100.0).contains(&percent)
                    || !digits.starts_with(|c: char| c.is_ascii_digit())
                {
                    return None;
                }
                Stat::Percentile(percent)
            }
        })
    }
}
