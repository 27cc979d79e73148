use super::*;

fn field(text: &str) -> Option<Field> {
    label(text).map(|label| label.field)
}

#[test]
fn english_labels_of_all_generations_are_known() {
    use Field::*;
    for (text, expected) in [
        ("Successful requests", Ok),
        ("Failed requests", Failed),
        ("Benchmark duration (s)", Window),
        ("Request throughput (req/s)", RequestsPerS),
        ("Output token throughput (tok/s)", OutputPerS),
        ("Total Token throughput (tok/s)", TotalPerS),
        ("Total token throughput (tok/s)", TotalPerS),
        ("Total generated tokens", OutputTokens),
        ("Maximum request concurrency", Concurrency),
        ("Peak concurrent requests", PeakConcurrency),
        ("Request goodput (req/s)", Goodput),
        ("Request rate configured (RPS)", Rate),
        (
            "P99 TTFT (ms)",
            Of(Sample::Ttft, Some(Stat::Percentile(99.0))),
        ),
        ("Mean E2E Latency (ms)", Of(Sample::E2e, Some(Stat::Mean))),
        (
            "Average input tokens per request",
            Of(Sample::InputLength, Some(Stat::Mean)),
        ),
        ("completion-tokens/second", OutputPerS),
        ("prompt-chars/second", InputCharsPerS),
        ("n-request", Ok),
        ("Expected number of requests", Planned),
        ("Throughput(average output tokens per second)", OutputPerS),
        ("p90", Bare(Stat::Percentile(90.0))),
    ] {
        assert_eq!(field(text), Some(expected), "{text}");
    }
    assert_eq!(
        label("mean_itl_ms").and_then(|l| l.unit),
        Some(Unit::Millis)
    );
}

#[test]
fn chinese_labels_are_known() {
    use Field::*;
    for (text, expected) in [
        ("并发", Concurrency),
        ("并发数", Concurrency),
        ("吞吐量", OutputPerS),
        ("总吞吐（tokens/s）", TotalPerS),
        ("首token时延(ms)", Of(Sample::Ttft, None)),
        ("平均延迟", Of(Sample::E2e, Some(Stat::Mean))),
        ("P99延迟", Of(Sample::E2e, Some(Stat::Percentile(99.0)))),
        ("成功请求数", Ok),
        ("失败请求数", Failed),
        ("用时", Window),
        (
            "平均每个请求的输出 token 数",
            Of(Sample::OutputLength, Some(Stat::Mean)),
        ),
        ("成功率", OkShare),
        ("失败率", FailedShare),
        ("命中率", Other),
        ("吞吐率(tokens/s)", OutputPerS),
        ("总TPS", TotalPerS),
        ("非首token时延(ms)", Of(Sample::Tpot, None)),
        ("增量时延", Of(Sample::Tpot, None)),
        ("全量时延", Of(Sample::Ttft, None)),
        ("输入长度", InputSize),
    ] {
        assert_eq!(field(text), Some(expected), "{text}");
    }
}

#[test]
fn a_speed_is_of_one_user_where_its_name_says_so() {
    for text in [
        "单路速度(tokens/s)",
        "单并发速度",
        "平均单路吞吐",
        "人均速度(tok/s)",
        "每用户吞吐",
        "tok/s/user",
        "TPS/user",
        "Throughput (tokens/s/user)",
        "tokens/s/req",
        "per-stream tok/s",
        "per request tok/s",
    ] {
        let sample = field(text).and_then(Field::sample);
        assert_eq!(sample, Some(Sample::PerUserSpeed), "{text}");
    }
}

#[test]
fn a_throughput_of_one_card_is_not_the_servers() {
    for text in [
        "tok/s per GPU",
        "tokens/s/card",
        "tok/s/GPU",
        "throughput (tokens/s/GPU)",
        "单卡吞吐",
        "每卡吞吐(tok/s)",
        "Tput/GPU",
    ] {
        assert_eq!(field(text), Some(Field::OutputPerCard), "{text}");
    }
    assert_eq!(field("total tok/s/GPU"), None);
    for text in ["GPUs", "卡数", "Num GPUs"] {
        assert_eq!(field(text), Some(Field::Cards), "{text}");
    }
}

#[test]
fn changes_and_percentages_are_no_measurements() {
    for text in [
        "TTFT change (%)",
        "Throughput gain (%)",
        "吞吐提升(%)",
        "吞吐提升",
        "TTFT变化(%)",
        "TTFT 降低",
        "speedup",
        "throughput speedup",
        "加速比",
        "TTFT (%)",
        "TTFT %",
        "throughput vs baseline",
        "QPS (%)",
        "TTFT P95 ≤ 2s 时 QPS",
    ] {
        assert_eq!(field(text), None, "{text}");
    }
    assert_eq!(field("成功率(%)"), Some(Field::OkShare));
    assert_eq!(field("Success rate %"), Some(Field::OkShare));
}

#[test]
fn units_behind_a_slash_and_arrows_are_no_part_of_a_name() {
    for (text, sample, unit) in [
        ("TTFT/ms", Sample::Ttft, Unit::Millis),
        ("平均时延/s", Sample::E2e, Unit::Seconds),
        ("延迟(ms) ↓", Sample::E2e, Unit::Millis),
    ] {
        let label = label(text).unwrap_or_else(|| panic!("{text}"));
        assert!(
            matches!(label.field, Field::Of(of, _) if of == sample),
            "{text}"
        );
        assert_eq!(label.unit, Some(unit), "{text}");
    }
    for text in ["吞吐量/(token/s)", "tokens/s", "Gen/s", "output tok/s ↑"] {
        assert_eq!(field(text), Some(Field::OutputPerS), "{text}");
    }
    assert_eq!(
        field("Per User Output Speed [1/TPOT] (tps/user)"),
        Some(Field::Of(Sample::DecodeSpeed, None))
    );
}

#[test]
fn an_offered_rate_is_a_load_and_an_achieved_one_a_result() {
    for text in [
        "RPS target",
        "目标QPS",
        "Target RPS",
        "offered load (req/s)",
        "Request rate",
        "设定QPS",
    ] {
        assert_eq!(field(text), Some(Field::Rate), "{text}");
    }
    for text in ["achieved QPS", "实际QPS", "Achieved request rate", "RPS"] {
        assert_eq!(field(text), Some(Field::RequestsPerS), "{text}");
    }
}

#[test]
fn percentiles_are_known_in_the_words_of_operators() {
    let of = |sample, rank| Some(Field::Of(sample, Some(Stat::Percentile(rank))));
    for (text, expected) in [
        ("首字TP99(ms)", of(Sample::Ttft, 99.0)),
        ("90分位时延(ms)", of(Sample::E2e, 90.0)),
        ("延迟99线", of(Sample::E2e, 99.0)),
        ("TTFT 99分位(ms)", of(Sample::Ttft, 99.0)),
        ("99th percentile TTFT", of(Sample::Ttft, 99.0)),
        ("TTFT (ms) Mdn", of(Sample::Ttft, 50.0)),
        (
            "TPOT均值(ms)",
            Some(Field::Of(Sample::Tpot, Some(Stat::Mean))),
        ),
        ("TP50", Some(Field::Bare(Stat::Percentile(50.0)))),
    ] {
        assert_eq!(field(text), expected, "{text}");
    }
    assert_eq!(field("TP8"), None, "tensor parallelism");
    for name in [
        "tensor_parallel_size",
        "tensor-parallel-size",
        "pipeline_parallel_size",
        "data_parallel_size",
    ] {
        assert_ne!(field(name), Some(Field::Concurrency), "{name}");
    }
    assert_eq!(field("parallel"), Some(Field::Concurrency));
}

#[test]
fn prose_names_nothing() {
    for text in ["", "the weather", "注意", "GPU", "http", "Note", "版本"] {
        assert_eq!(field(text), None, "{text}");
    }
}
