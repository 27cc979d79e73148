//! The command line as its author typed it, for the line of a report that repeats it.

use inferometer_text::secret::without_secrets;

/// The words of a command line as they may be kept: values of headers are never stored.
pub fn typed_words(words: impl Iterator<Item = String>) -> Vec<String> {
    let mut after_header = false;
    let plain = |header: &str| match header.split_once('=') {
        Some((name, _)) => format!("{name}=…"),
        None => "…".to_owned(),
    };
    let words = words.map(|word| {
        let is_value = std::mem::replace(&mut after_header, word == "--header");
        match word.strip_prefix("--header=") {
            Some(header) => format!("--header={}", plain(header)),
            None if is_value => plain(&word),
            None => word,
        }
    });
    without_secrets(&words.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_of_a_command_line_has_no_secret() {
        let line = "sweep http://me:pass@host --header X-Team=abc --header=Cookie=def --extra \
                    {\"api_key\":\"ghi\"} --concurrency 1,2 -- vllm serve --api-key jkl";
        let kept = typed_words(line.split(' ').map(str::to_owned)).join(" ");
        for secret in ["pass@", "abc", "def", "ghi", "jkl"] {
            assert!(!kept.contains(secret), "{secret}: {kept}");
        }
        let headers = "--header X-Team=… --header=Cookie=";
        assert!(kept.contains(headers), "{kept}");
        assert!(kept.contains("--concurrency 1,2 -- vllm serve"), "{kept}");
    }
}
