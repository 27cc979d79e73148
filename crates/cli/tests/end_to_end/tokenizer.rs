//! Both sides told of the same tokenizer: they count alike.

use crate::support::{Place, Run, Sim};
use serde_json::{Value, json};

const CHAT_ML: &str = "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";
/// `<|im_start|>`, u s er ⏎, … `<|im_end|>` ⏎, `<|im_start|>`, assistant ⏎: `er` is one token,
/// every other letter is one by itself.
const AROUND: u32 = 1 + 4 + 1 + 1 + 1 + 10;

/// A folder with a tokenizer of bytes, four merges and two special tokens, and a chat template.
pub fn model_folder(place: &Place) -> String {
    let mut stand_ins = 256..;
    let mut vocabulary: serde_json::Map<String, Value> = (0..=255_u32)
        .map(|byte| {
            let shown = matches!(byte, 33..=126 | 161..=172 | 174..=255);
            let letter = if shown { Some(byte) } else { stand_ins.next() };
            let letter = letter.and_then(char::from_u32).unwrap();
            (letter.to_string(), json!(byte))
        })
        .collect();
    for (place, piece) in ["th", "the", "in", "er"].into_iter().enumerate() {
        vocabulary.insert(piece.to_owned(), json!(256 + place));
    }
    let special = |id: u32, content: &str| json!({"id": id, "content": content, "special": true, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false});
    let byte_level = json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true});
    let tokenizer = json!({
        "version": "1.0", "truncation": null, "padding": null, "normalizer": null,
        "added_tokens": [special(260, "<|im_start|>"), special(261, "<|im_end|>")],
        "pre_tokenizer": byte_level, "decoder": byte_level, "post_processor": null,
        "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null, "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "vocab": vocabulary, "merges": ["t h", "th e", "i n", "e r"]}
    });
    let folder = place.path("model");
    std::fs::create_dir_all(&folder).unwrap();
    place.write("model/tokenizer.json", tokenizer.to_string());
    place.write("model/chat_template.jinja", CHAT_ML);
    folder.to_str().unwrap().to_owned()
}

const WORK: [&str; 6] = ["--requests", "6", "--concurrency", "2", "--warmup", "0"];

/// Runs of made-up prompts and of a data set, by both APIs.
fn runs(place: &Place, sim: &Sim, tokenizer: &str) -> Vec<(&'static str, Run)> {
    let data = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../fixtures/data/openqa.jsonl"
    );
    let mut runs = Vec::new();
    for api in ["chat", "completions"] {
        for source in [["--input-tokens", "90"], ["--data", data]] {
            let options = [
                &WORK[..],
                &["--api", api, "--tokenizer", tokenizer],
                &source,
            ]
            .concat();
            let run = place.measure(&sim.url, &options);
            run.assert_all_ok(6);
            runs.push((api, run));
        }
    }
    runs
}

#[track_caller]
fn assert_counts(run: &Run, around: u32) {
    for record in &run.records {
        let ours = record.input_tokens_asked.unwrap();
        assert_eq!(record.input_tokens(), Some(ours + around));
    }
    let agrees = |note: &String| note.contains("counts the same");
    assert!(run.notes.iter().any(agrees), "{:?}", run.notes);
}

#[test]
fn the_servers_prompt_counts_are_ours_where_both_use_one_vocabulary() {
    let place = Place::new();
    let sim = Sim::start(&["--tokenizer", "cl100k"]);
    for (_, run) in runs(&place, &sim, "cl100k") {
        assert_counts(&run, 0);
    }
}

#[test]
fn a_models_own_file_counts_alike_and_its_chat_template_too() {
    let place = Place::new();
    let model = model_folder(&place);
    let command = ["vllm", "serve", "qwen2.5-7b", "--tokenizer", &model];
    let sim = Sim::scheduled(&[&["--device", "h200", "--"], &command[..]].concat());
    for (api, run) in runs(&place, &sim, &model) {
        assert_counts(&run, if api == "chat" { AROUND } else { 0 });
        // The client counts the template by itself, and says how much it is.
        let told = format!("chat template adds {AROUND} tokens");
        let tells = run.notes.iter().any(|note| note.contains(&told));
        assert_eq!(tells, api == "chat", "{:?}", run.notes);
    }
}

#[test]
fn answers_counted_by_their_text_have_the_tokens_that_were_sent() {
    for name in ["o200k", "bytes"] {
        let place = Place::new();
        let sim = Sim::start(&["--tokenizer", name, "--faults", "usage=missing"]);
        let options = [&WORK[..], &["--output-tokens", "40", "--tokenizer", name]].concat();
        let run = place.measure(&sim.url, &options);
        run.assert_all_ok(6);
        for record in &run.records {
            assert_eq!(record.output_tokens(), Some(40), "{name}");
        }
    }
}

#[test]
fn a_tokenizer_that_is_none_is_refused() {
    let place = Place::new();
    let damaged = place.write("tokenizer.json", "{");
    for name in [damaged.as_str(), "nowhere"] {
        place
            .run(&["sim", "--tokenizer", name])
            .assert_refused(&["cl100k"]);
    }
}

#[test]
fn a_tokenizer_that_makes_ever_more_of_a_text_is_refused() {
    let place = Place::new();
    let folder = model_folder(&place);
    let file = place.path("model/tokenizer.json");
    let sound: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let doubled = json!({"type": "Replace", "pattern": {"String": "q"}, "content": "qq"});
    let normalizer = json!({"type": "Sequence", "normalizers": vec![doubled; 40]});
    let again = json!({"Sequence": {"id": "A", "type_id": 0}});
    let around = |times: usize| json!({"type": "TemplateProcessing", "single": vec![again.clone(); times], "pair": [], "special_tokens": {}});
    for (key, value, told) in [
        ("normalizer", normalizer, "ever more of a short text"),
        (
            "post_processor",
            around(200_000),
            "ever more of a short text",
        ),
        ("post_processor", around(100), "tokens of"),
    ] {
        let mut hostile = sound.clone();
        hostile[key] = value;
        place.write("model/tokenizer.json", hostile.to_string());
        for command in [
            &["run", "--requests", "2", "--tokenizer", &folder][..],
            &["sim", "--listen", "127.0.0.1:0", "--tokenizer", &folder],
        ] {
            place.run(command).assert_refused(&["tokenizer.json", told]);
        }
    }
}

/// In processes of their own: the thread that makes ever more of it goes on until they end.
#[test]
fn a_chat_template_that_doubles_a_text_or_a_list_is_refused() {
    let place = Place::new();
    let folder = model_folder(&place);
    let text = "{% set ns = namespace(t='x') %}{% for i in range(29) %}{% set ns.t = ns.t ~ ns.t %}{% endfor %}{{ messages[0].content }}";
    // Takes no memory: the list is joined where it is gone through.
    let list = "{% set ns = namespace(l=[1]) %}{% for i in range(36) %}{% set ns.l = ns.l + ns.l %}{% endfor %}{{ ns.l | sum }}{{ messages[0].content }}";
    for doubling in [text, list] {
        place.write("model/chat_template.jinja", doubling);
        for command in ["run", "sim"] {
            let options: &[&str] = match command {
                "run" => &["run", "--requests", "2", "--tokenizer", &folder],
                _ => &["sim", "--listen", "127.0.0.1:0", "--tokenizer", &folder],
            };
            let ended = place.run(options);
            assert_eq!(ended.code, Some(2), "{command}: {}", ended.stderr);
            let told = ended.stderr.contains("chat template");
            assert!(told, "{command}: {}", ended.stderr);
        }
    }
}
