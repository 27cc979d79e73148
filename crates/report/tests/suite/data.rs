//! What `inferometer data` shows, as people see it.

use inferometer_core::work::DataFormat;
use inferometer_page::text::{TextStyle, render};
use inferometer_report::data::{Conversion, compose};
use inferometer_text::Lang;
use inferometer_workload::survey::{
    Arrivals, BadLine, LengthCounts, Lengths, Packing, RowCounts, SCHEMA, Survey,
};
use unicode_width::UnicodeWidthStr;

fn lengths(all: impl Iterator<Item = u64>) -> Option<Lengths> {
    let mut counts = LengthCounts::default();
    all.for_each(|length| counts.add(length));
    counts.lengths()
}

fn survey() -> Survey {
    Survey {
        schema: SCHEMA.to_owned(),
        location: "ShareGPT_V3_unfiltered_cleaned_split.json.gz".to_owned(),
        format: DataFormat::ShareGpt,
        format_given: false,
        packing: Packing::Gzip,
        rows: RowCounts {
            seen: 94_145,
            usable: 61_003,
            unusable: 2_011,
            bad: 23,
            too_short: 0,
            too_long: 1_108,
            by_filter: 30_000,
        },
        partial: false,
        bad_rows: (1..=20)
            .map(|row| BadLine {
                line: row * 977,
                reason: "it has no field 'prompt' but 'id', 'query'; see --field".to_owned(),
            })
            .collect(),
        tokenizer: Some("cl100k".to_owned()),
        tokenizer_given: false,
        prompt_chars: lengths((0..5_000).map(|row| row * row % 4_099 + 9)),
        prompt_tokens: lengths((0..5_000).map(|row| row * row % 100 + 100)),
        output_tokens: lengths([64; 500].into_iter()),
        turns: lengths((0..90).map(|row| row % 4 + 1)),
        arrivals: None,
        first_prompts: vec![
            "How do I keep basil alive?".to_owned(),
            "写一首关于雨的短诗。".repeat(9),
            "bad\u{1b}[31m".to_owned(),
        ],
    }
}

#[test]
fn a_data_set_at_a_glance() {
    let conversion = Conversion {
        written: 61_001,
        left_out: 2,
        file: "prompts.jsonl".to_owned(),
    };
    let doc = compose(&survey(), Some(&conversion), Lang::En);
    let text = render(&doc, TextStyle::default());
    insta::assert_snapshot!("data_set", text);
    for width in [60, 80, 120] {
        let style = TextStyle {
            width,
            ..TextStyle::default()
        };
        for line in render(&doc, style).lines() {
            assert!(line.width() <= width, "{line}");
        }
    }
}

#[test]
fn a_trace_at_a_glance() {
    let trace = Survey {
        format: DataFormat::Azure,
        format_given: true,
        packing: Packing::Plain,
        rows: RowCounts {
            seen: 1_000,
            usable: 1_000,
            ..RowCounts::default()
        },
        partial: true,
        bad_rows: Vec::new(),
        tokenizer: None,
        prompt_chars: None,
        turns: None,
        arrivals: Some(Arrivals {
            span_s: 3_501.7,
            per_s: Some(2.81),
            gap_variation: Some(1.734),
        }),
        first_prompts: Vec::new(),
        ..survey()
    };
    let text = render(&compose(&trace, None, Lang::En), TextStyle::default());
    insta::assert_snapshot!("data_trace", text);
}
