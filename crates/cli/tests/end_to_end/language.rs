//! Chinese for whoever asks for it, or whose locale does.

use crate::support::{Place, Sim};
use inferometer_core::doubt::DoubtCode;
use strum::VariantArray as _;

/// What stays as it is in a Chinese line: names, units, codes and words of the field.
const KEPT: [&str; 37] = [
    "TTFT",
    "TPOT",
    "ITL",
    "E2E",
    "API",
    "HTTP",
    "SLO",
    "CPU",
    "CSV",
    "URL",
    "Token",
    "token",
    "tok",
    "req",
    "ms",
    "min",
    "mean",
    "max",
    "chunk",
    "usage",
    "chat",
    "completions",
    "stream",
    "worker",
    "inferometer",
    "run",
    "config",
    "scenario",
    "toml",
    "http",
    "runs",
    "ignore_eos",
    "min_tokens",
    "max_tokens",
    "trace",
    "prefill",
    "virtual",
];

/// Words of English prose: letters alone, outside options, addresses, paths and known words.
fn prose(line: &str) -> Vec<&str> {
    line.split(|c: char| c.is_whitespace() || "，。；：、（）“”「」,;()".contains(c))
        .filter(|word| !word.contains(['/', '=', '`', '_', '.']) && !word.starts_with("--"))
        .flat_map(|word| word.split(|c: char| !c.is_ascii_alphabetic()))
        .filter(|word| word.len() > 2 && !KEPT.contains(word))
        .collect()
}

fn assert_chinese(text: &str, known: &[&str]) {
    for line in text.lines() {
        let words = prose(line);
        let odd: Vec<_> = words.iter().filter(|word| !known.contains(word)).collect();
        assert!(odd.is_empty(), "{odd:?} in {line:?} of\n{text}");
    }
}

#[test]
fn a_chinese_run_says_nothing_in_english() {
    let place = Place::new();
    // In virtual time, so that the doubts are always the same; the words of all others are
    // checked where they are written.
    let options = [
        "run",
        "--sim-clock",
        "virtual",
        "--lang",
        "zh",
        "--requests",
        "24",
        "--concurrency",
        "4",
        "--output-tokens",
        "8",
        "--slo",
        "ttft=1s",
    ];
    let run = place.run(&options);
    assert!(run.stdout.starts_with("有效"), "{run:?}");
    // Codes of doubts, and names of the simulated server.
    let codes = DoubtCode::VARIANTS.iter().map(|code| code.into_str());
    let known: Vec<&str> = codes
        .flat_map(|code| code.split('-'))
        .chain(["sim", "null", "Saved", "ttft"])
        .collect();
    assert_chinese(&run.stdout, &known);
    assert_chinese(&run.stderr, &known);
    let again = place.run(&["report", "--lang", "zh", "--definitions"]);
    assert!(again.stdout.contains("指标定义"), "{}", again.stdout);
    assert_chinese(
        &again.stdout,
        &[&known[..], &["Hyndman", "Fan", "Student", "TLS", "role"]].concat(),
    );
    let list = place.run(&["runs", "--lang", "zh"]);
    assert!(list.stdout.contains("结论"), "{}", list.stdout);
    assert_chinese(&list.stdout, &known);
}

#[test]
fn a_chinese_look_at_a_server_and_at_data_says_nothing_in_english() {
    let place = Place::new();
    let sim = Sim::start(&["--ttft", "5ms", "--itl", "1ms"]);
    let server = place.run(&["doctor", &sim.url, "--lang", "zh"]);
    assert!(server.stdout.contains("支持"), "{server:?}");
    assert_chinese(&server.stdout, &["null", "sim"]);
    let data = place.write("a.jsonl", "{\"prompt\": \"一\"}\n{\"prompt\": \"二\"}\n");
    let looked = place.run(&["data", &data, "--lang", "zh"]);
    assert!(looked.stdout.contains("识别为"), "{looked:?}");
    assert_chinese(&looked.stdout, &["custom", "jsonl", "cl", "tokenizer"]);
}

#[test]
fn the_locale_chooses_where_no_option_does() {
    let place = Place::new();
    let listed = |locale: &str, options: &[&str]| {
        let arguments = [&["runs", "."], options].concat();
        let mut command = place.command(&arguments);
        command.env_remove("LC_MESSAGES").env("LC_ALL", locale);
        let output = command.output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(listed("zh_CN.UTF-8", &[]).contains("还没有运行记录"));
    assert!(listed("C.UTF-8", &[]).contains("No runs"));
    assert!(listed("zh_CN.UTF-8", &["--lang", "en"]).contains("No runs"));
    assert!(listed("en_GB.UTF-8", &["--lang", "zh"]).contains("还没有运行记录"));
}

#[test]
fn help_speaks_the_language_that_is_asked_for_before_anything_is_parsed() {
    let place = Place::new();
    let help = |arguments: &[&str], variables: &[(&str, &str)]| {
        let mut command = place.command(arguments);
        command.envs(variables.iter().copied());
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let in_chinese = help(&["run", "-h", "--lang", "zh"], &[]);
    assert!(in_chinese.contains("用法：inferometer run [选项]"));
    assert!(in_chinese.contains("闭环：并发数"), "{in_chinese}");
    assert!(help(&["--help"], &[("LC_ALL", "zh_CN.UTF-8")]).contains("测量一个负载点"));
    assert!(help(&["help", "sweep"], &[("INFEROMETER_LANG", "zh")]).contains("扫描："));
    for words in [
        &["help", "run", "--lang", "zh"][..],
        &["--lang", "zh", "help", "run"],
        &["--lang=zh", "run", "--help"],
        &["sim", "--lang", "zh", "--help"],
        &["verify", "--help", "--lang", "zh"],
    ] {
        assert!(help(words, &[]).contains("用法："), "{words:?}");
    }
    let from = ["from", "vllm bench serve --num-warmups 3", "--lang", "zh"];
    let from = help(&from, &[]);
    assert!(
        from.contains("--warmup 3") && from.contains("含义不同"),
        "{from}"
    );
    let english = help(&["run", "-h", "--lang=en"], &[("INFEROMETER_LANG", "zh")]);
    assert!(english.contains("Usage: inferometer run"), "{english}");
    // The variable holds where options are not read from the environment, too.
    let plan = [
        "plan",
        "memory",
        "--model",
        "qwen2.5-7b",
        "--device",
        "h100",
    ];
    assert!(help(&plan, &[("INFEROMETER_LANG", "zh")]).contains("可容纳"));
    // After -- stands an engine's command, whose options are not ours.
    let engine = help(&["run", "-h", "--", "serve", "--lang", "zh"], &[]);
    assert!(engine.contains("Usage:"), "{engine}");
}

#[test]
fn common_errors_are_one_chinese_line_with_the_remedy() {
    let place = Place::new();
    for (arguments, told) in [
        (
            &["run", "http://127.0.0.1:1"][..],
            "无法连接 http://127.0.0.1:1：127.0.0.1:1：连接被拒绝",
        ),
        (&["run", "--conccurency", "3"], "是不是想写 '--concurrency'"),
        (
            &["run", "--concurrency", "1,2"],
            "多个取值属于扫描：inferometer sweep --concurrency 1,2",
        ),
        (
            &["run", "--rate", "5", "--concurrency", "3"],
            "--rate 与 --concurrency 不能同时使用",
        ),
        (
            &["run", "--config", "nowhere.toml"],
            "请检查路径：没有这个文件或文件夹",
        ),
        (
            &["run", "--sim-clock", "virtual", "--sim-model", "nope"],
            "没有模型 'nope' 的资料",
        ),
        (&["report", "nowhere"], "nowhere 不存在；`inferometer runs`"),
        (&["report", "http://u:geheim@host"], "@host 不存在"),
        (&["run", "--rate", "http://u:geheim@host"], "@host' 无效"),
    ] {
        let mut command = place.command(arguments);
        let output = command.env("LC_ALL", "zh_CN.UTF-8").output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(told), "{said} does not say {told}");
        assert!(said.starts_with("错误：") && said.lines().count() == 1);
        assert!(!said.contains("geheim"), "{said}");
    }
    let mut command = place.command(["run"]);
    command
        .env("INFEROMETER_LANG", "zh")
        .env("INFEROMETER_CONCURRENCY", "0");
    let said = String::from_utf8(command.output().unwrap().stderr).unwrap();
    assert!(said.contains("该值来自环境变量"), "{said}");
}
