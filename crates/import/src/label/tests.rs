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
fn prose_names_nothing() {
    for text in ["", "the weather", "注意", "GPU", "http", "Note", "版本"] {
        assert_eq!(field(text), None, "{text}");
    }
}
