use super::*;
use crate::arguments::Cli;
use clap::CommandFactory;
use std::path::Path;

fn texts() -> Texts {
    toml::from_str(TEXTS).expect("data/errors.zh.toml")
}

/// The source of all crates, with texts that go over several lines in one.
fn source(folder: &Path, found: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            source(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = std::fs::read_to_string(path).unwrap();
            let mut lines = text.split("\\\n");
            found.push_str(lines.next().unwrap_or_default());
            lines.for_each(|line| found.push_str(line.trim_start()));
        }
    }
}

#[test]
fn every_error_with_a_chinese_text_is_made_somewhere() {
    let mut all = String::new();
    for entry in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("..")).unwrap() {
        let source_folder = entry.unwrap().path().join("src");
        if source_folder.is_dir() {
            source(&source_folder, &mut all);
        }
    }
    let texts = texts();
    let stale: Vec<&String> = (texts.ours.keys())
        .filter(|english| !all.contains(&format!("\"{english}")))
        .collect();
    assert!(
        stale.is_empty(),
        "nothing says what crates/cli/data/errors.zh.toml translates: {stale:#?}"
    );
}

/// Examples reach only some of them, and a command line that nobody tried is a user's first.
#[test]
fn whatever_a_translation_can_say_has_a_chinese_text() {
    let mut all = String::new();
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    source(&crates.join("translate/src"), &mut all);
    let texts = texts();
    let said = [".differs(", ".lacks("].into_iter().flat_map(|call| {
        all.split(call).skip(1).filter_map(|argument| {
            let argument = argument.trim_start();
            let argument = argument.strip_prefix("format!(").unwrap_or(argument);
            let literal = argument.trim_start().trim_start_matches("r#");
            literal.strip_prefix('"')
        })
    });
    let said: Vec<&str> = said.collect();
    assert!(said.len() > 50, "the source says {} texts", said.len());
    let untold: Vec<&str> = (said.into_iter())
        .filter(|text| !(texts.ours.keys()).any(|known| text.starts_with(&format!("{known}\""))))
        .filter_map(|text| text.lines().next())
        .collect();
    assert!(
        untold.is_empty(),
        "not in crates/cli/data/errors.zh.toml: {untold:#?}"
    );
}

#[test]
fn chinese_templates_have_the_values_of_the_english_ones() {
    for (english, chinese) in templates(&texts()) {
        assert!(!chinese.is_ascii(), "{english}");
        let mut values = [values_of(english), values_of(chinese)];
        values.iter_mut().for_each(|values| values.sort_unstable());
        assert_eq!(values[0], values[1], "{english}");
    }
}

#[test]
fn an_error_is_recognised_with_its_parts() {
    let told = "cannot reach http://a:1: a:1: Connection refused (os error 111); start the server, or correct host and port";
    let chinese =
        "无法连接 http://a:1：a:1：连接被拒绝（os error 111）；请启动服务端，或改正主机名和端口";
    assert_eq!(in_chinese(told), chinese);
    let told =
        "--rate and --concurrency exclude each other: an open loop is capped by --max-concurrency";
    let chinese = "--rate 与 --concurrency 不能同时使用：开环的上限用 --max-concurrency 给出";
    assert_eq!(in_chinese(told), chinese);
    let told = "-o x.svg is one file, and there are 3 figures; name a folder";
    assert_eq!(
        in_chinese(told),
        "-o x.svg 是单个文件，而图有 3 张；请给文件夹"
    );
    // Two words before what a template says are no option.
    let other = "the engine needs memory: much";
    assert_eq!(in_chinese(other), other);
    assert_eq!(in_chinese("nobody knows this"), "nobody knows this");
}

#[test]
fn causes_follow_and_are_told_once() {
    let missing = std::io::Error::from_raw_os_error(2);
    let error = anyhow::Error::new(missing).context("cannot read --config a.toml; check the path");
    let told = "无法读取 --config a.toml；请检查路径：没有这个文件或文件夹（os error 2）";
    assert_eq!(with_causes(&error), told);
}

#[test]
fn errors_of_the_command_line_are_told_from_their_parts() {
    for (words, told) in [
        (
            "run --conccurency 3",
            "没有选项或参数 '--conccurency'；是不是想写 '--concurrency'",
        ),
        ("rnu", "没有命令 'rnu'；是不是想写 'runs'"),
        ("run --model", "'--model <NAME|MIX>' 缺少值"),
        ("verify", "缺少必需的参数"),
        ("manual run --out x", "不能与"),
        (
            "run --lang xx",
            "'--lang <en|zh>' 的值 'xx' 无效：请选择 en 或 zh",
        ),
        ("run --arrival now", "请选择 constant、poisson 或 gamma"),
        ("run --concurrency 0", "'0' 无效：请给从 1 起的整数"),
        ("run --duration 5", "200ms、5s、10m 或 2h"),
        ("completions tcsh", "可选值：bash、elvish"),
        ("run --seed 1 --seed 2", "只能给出一次"),
    ] {
        let words = ["inferometer"].into_iter().chain(words.split(' '));
        let error = Cli::command().try_get_matches_from(words).unwrap_err();
        let chinese = of_command_line(&error).expect("a known kind");
        assert!(chinese.contains(told), "{chinese} does not say {told}");
    }
}
