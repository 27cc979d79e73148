//! Version 4 of Amazon's signatures, which S3 and all that speak like it take.

use super::{Ask, hex};
use jiff::Timestamp;
use ring::digest::{SHA256, digest};
use ring::hmac::{HMAC_SHA256, Key, sign as hmac};

/// Never shown.
pub(crate) struct S3Keys {
    pub id: String,
    pub secret: String,
    /// Of temporary keys.
    pub token: Option<String>,
    pub region: String,
}

impl S3Keys {
    /// All headers of a request, those that sign it among them.
    pub fn signed(&self, ask: &Ask<'_>, host: &str, now: Timestamp) -> Vec<(&'static str, String)> {
        let time = now.strftime("%Y%m%dT%H%M%SZ").to_string();
        let content = hex(digest(&SHA256, ask.body).as_ref());
        let mut headers = ask.headers.clone();
        headers.push(("host", host.to_owned()));
        headers.push(("x-amz-date", time.clone()));
        headers.push(("x-amz-content-sha256", content.clone()));
        let token = self.token.iter();
        headers.extend(token.map(|token| ("x-amz-security-token", token.clone())));
        headers.sort();
        let lines: String = (headers.iter())
            .map(|(name, value)| format!("{name}:{}\n", value.trim()))
            .collect();
        let names: Vec<&str> = headers.iter().map(|(name, _)| *name).collect();
        let names = names.join(";");
        let canonical = format!(
            "{}\n{}\n{}\n{lines}\n{names}\n{content}",
            ask.method.word(),
            ask.path,
            ask.query_text()
        );
        let scope = format!("{}/{}/s3/aws4_request", &time[..8], self.region);
        let to_sign = format!(
            "AWS4-HMAC-SHA256\n{time}\n{scope}\n{}",
            hex(digest(&SHA256, canonical.as_bytes()).as_ref())
        );
        let signature = hex(&self.signature(&scope, &to_sign));
        headers.push((
            "authorization",
            format!(
                "AWS4-HMAC-SHA256 Credential={}/{scope}, SignedHeaders={names}, Signature={signature}",
                self.id
            ),
        ));
        headers
    }

    /// The key of a day, a region and a service is derived from the secret, step by step.
    fn signature(&self, scope: &str, to_sign: &str) -> Vec<u8> {
        let first = format!("AWS4{}", self.secret).into_bytes();
        let steps = scope.split('/').chain([to_sign]);
        steps.fold(first, |key, text| {
            let key = Key::new(HMAC_SHA256, &key);
            hmac(&key, text.as_bytes()).as_ref().to_vec()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_fetch::Method;

    fn keys() -> S3Keys {
        S3Keys {
            id: "AKIDINFEROMETER".into(),
            secret: "secret/of+the=test".into(),
            token: Some("session token".into()),
            region: "eu-central-1".into(),
        }
    }

    /// What is expected was computed by the published steps with Python's `hmac` and `hashlib`.
    #[test]
    fn requests_are_signed_as_the_specification_says() {
        let now: Timestamp = "2026-11-17T16:00:05Z".parse().unwrap();
        let ask = Ask {
            method: Method::Put,
            path: "/lab/run%3D1/a%20b.json".into(),
            query: vec![("uploadId", "x/y=".into()), ("partNumber", "2".into())],
            headers: vec![("content-type", "application/json".into())],
            body: b"{}",
        };
        let headers = keys().signed(&ask, "127.0.0.1:9000", now);
        let of = |name: &str| {
            let mut found = headers.iter().filter(|(known, _)| *known == name);
            found.next().map(|(_, value)| value.as_str())
        };
        assert_eq!(of("x-amz-date"), Some("20261117T160005Z"));
        assert_eq!(of("x-amz-security-token"), Some("session token"));
        assert_eq!(
            of("authorization"),
            Some(
                "AWS4-HMAC-SHA256 Credential=AKIDINFEROMETER/20261117/eu-central-1/s3/aws4_request, \
                 SignedHeaders=content-type;host;x-amz-content-sha256;x-amz-date;x-amz-security-token, \
                 Signature=c92d83f369237fa7452454be77af594989e43e56c81afff3b6624477cab092a2"
            )
        );
    }

    #[test]
    fn every_part_of_a_request_is_signed() {
        let now: Timestamp = "2026-11-17T16:00:05Z".parse().unwrap();
        let signed = |host: &str, change: fn(&mut Ask<'_>)| {
            let mut ask = Ask {
                method: Method::Get,
                path: "/lab/a".into(),
                query: vec![("prefix", "a".into())],
                headers: Vec::new(),
                body: b"",
            };
            change(&mut ask);
            keys().signed(&ask, host, now).pop()
        };
        let plain = signed("h", |_| {});
        assert_ne!(signed("other", |_| {}), plain);
        let changes: [fn(&mut Ask<'_>); 4] = [
            |ask| ask.method = Method::Delete,
            |ask| ask.path = "/lab/b".into(),
            |ask| ask.query[0].1 = "b".into(),
            |ask| ask.body = b"x",
        ];
        for change in changes {
            assert_ne!(signed("h", change), plain);
        }
    }
}
