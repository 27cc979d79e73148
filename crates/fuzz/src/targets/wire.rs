//! What a measured server sends.

use super::Scratch;
use crate::seeds;
use inferometer_core::api::Api;
use inferometer_core::content::Content;
use inferometer_core::medium::Medium;
use inferometer_core::record::{Chunks, Record};
use inferometer_core::sound::Sound;
use inferometer_core::units::Offset;
use inferometer_load::answer::{AnswerProgress, AnswerReader};
use inferometer_load::api::{Dialect, Prompt, RequestOptions, forms};
use inferometer_load::http::{BodyDecoder, Head};
use inferometer_load::sse::{SseParser, TooLong};
use inferometer_sim::multipart;
use inferometer_workload::wav;
use strum::VariantArray as _;

/// Beyond this, limits may strike at another place where the input comes in pieces.
const COMPARED: usize = 8 << 10;

/// The bodies of recorded streams.
pub fn events() -> Vec<Vec<u8>> {
    let mut bodies = Vec::new();
    for answer in seeds::files("fixtures/sse", &[".txt"]) {
        let Ok(Some(head)) = Head::read(&answer) else {
            continue;
        };
        let (mut body, mut frame) = (Vec::new(), head.body());
        let _ = frame.decode(&answer[head.length..], |data| body.extend_from_slice(data));
        bodies.push(body);
    }
    bodies
}

/// Answers as they were recorded, and without framing: a change inside a chunk mostly breaks that.
pub fn answers() -> Vec<Vec<u8>> {
    let mut all = seeds::files("fixtures/sse", &[".txt"]);
    let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
    all.extend(events().iter().map(|body| [&head[..], body].concat()));
    all
}

/// Pieces whose size depends on nothing but the input; not so many that a long head, which is read
/// anew with each of them, takes most of the time.
fn pieces(input: &[u8]) -> impl Iterator<Item = &[u8]> {
    let sum: usize = input.iter().take(16).map(|byte| usize::from(*byte)).sum();
    input.chunks((1 + sum % 37).max(input.len() / 512))
}

type Events = Vec<(Vec<u8>, Option<String>)>;

pub fn sse(input: &[u8], _: &Scratch) -> bool {
    let read = |pieces: &mut dyn Iterator<Item = &[u8]>| -> Result<Events, TooLong> {
        let mut events = Events::new();
        let mut parser = SseParser::default();
        for piece in pieces {
            parser.feed(piece, |event| {
                events.push((event.data.to_vec(), event.name.map(str::to_owned)))
            })?;
        }
        parser.finish(|event| events.push((event.data.to_vec(), event.name.map(str::to_owned))))?;
        Ok(events)
    };
    let whole = read(&mut std::iter::once(input));
    let split = read(&mut pieces(input));
    assert_eq!(whole, split, "events of the whole and of its pieces");
    whole.is_ok_and(|events| !events.is_empty())
}

pub fn http(input: &[u8], _: &Scratch) -> bool {
    let Ok(Some(head)) = Head::read(input) else {
        return false;
    };
    let body = &input[head.length..];
    let read = |pieces: &mut dyn Iterator<Item = &[u8]>| {
        let (mut frame, mut data): (BodyDecoder, Vec<u8>) = (head.body(), Vec::new());
        for piece in pieces {
            if let Err(error) = frame.decode(piece, |bytes| data.extend_from_slice(bytes)) {
                return (data, Some(error));
            }
        }
        (data, None)
    };
    let (whole, split) = (read(&mut std::iter::once(body)), read(&mut pieces(body)));
    if body.len() <= COMPARED {
        assert_eq!(whole, split, "bodies of the whole and of its pieces");
    }
    whole.1.is_none()
}

pub fn answer(input: &[u8], _: &Scratch) -> bool {
    // A read of nothing is the end of the connection, and not a piece.
    if input.is_empty() {
        return false;
    }
    let mut done = false;
    let dialects = Api::VARIANTS.iter().flat_map(|api| forms(*api));
    for &dialect in dialects {
        let whole = record(dialect, std::iter::once(input));
        let split = record(dialect, pieces(input));
        if input.len() <= COMPARED {
            assert_eq!(whole, split, "records of the whole and of its pieces");
        }
        done |= whole.is_done();
    }
    done
}

fn record<'a>(dialect: &'static dyn Dialect, mut pieces: impl Iterator<Item = &'a [u8]>) -> Record {
    let now = Offset(1_000_000);
    let mut record = Record {
        streamed: true,
        ..Record::default()
    };
    let mut reader = AnswerReader::new(dialect).keeping_text();
    let over = pieces.any(|piece| {
        let progress = reader.take(piece, now, &mut record);
        matches!(progress, AnswerProgress::Over { .. })
    });
    if !over {
        reader.close(now, &mut record);
    }
    // Which chunks share a read is all that the pieces may change.
    record.chunks = Chunks {
        same_read: Vec::new(),
        ..record.chunks
    };
    for bare in &mut record.bare {
        bare.at = now;
    }
    record
}

/// Forms as transcriptions send them, each after a line with its type.
pub fn sound_forms() -> Vec<Vec<u8>> {
    let sounds = [wav(1, 3)[..400].to_vec(), b"ID3 short".to_vec()];
    let content = Content::Text("names: Ada".into());
    let dialect = forms(Api::Transcriptions)[0];
    let form = |sound: Vec<u8>| {
        let media = [Medium::Sound(Sound::new(sound)?)];
        let prompt = Prompt {
            media: &media,
            ..Prompt::from(&content)
        };
        let body = dialect.body(&RequestOptions::default(), &prompt, Some(9));
        let line = format!("{}\n", dialect.content_type(&body));
        Some([line.as_bytes(), &body].concat())
    };
    sounds.into_iter().filter_map(form).collect()
}

pub fn form(input: &[u8], _: &Scratch) -> bool {
    let line = input.iter().position(|&byte| byte == b'\n');
    let (line, body) = input.split_at(line.map_or(input.len(), |at| at + 1));
    match multipart::parts(&String::from_utf8_lossy(line), body) {
        Ok(parts) => {
            let held: usize = parts.iter().map(|part| part.content.len()).sum();
            assert!(held <= body.len(), "parts are what was sent");
            let files = parts.into_iter().filter(|part| part.is_file);
            // Whatever is taken for a sound has a length or none.
            files.filter_map(|file| Sound::new(file.content)).count() > 0
        }
        Err(_) => false,
    }
}

/// Pages of listings, of S3 and of Azure.
pub fn listings() -> Vec<Vec<u8>> {
    let object =
        "<Contents><Key>a/b&amp;c</Key><ETag>&quot;e&quot;</ETag><Size>12</Size></Contents>";
    let blob = "<Blob><Name>a</Name><Properties><Content-Length>7</Content-Length><Etag>0x8</Etag></Properties></Blob>";
    let s3 = format!(
        "<?xml version=\"1.0\"?><ListBucketResult xmlns=\"x\"><IsTruncated>true</IsTruncated>{}<NextContinuationToken>t</NextContinuationToken></ListBucketResult>",
        object.repeat(3)
    );
    let azure = format!(
        "<EnumerationResults><Blobs>{}</Blobs><NextMarker/></EnumerationResults>",
        blob.repeat(3)
    );
    vec![s3.into_bytes(), azure.into_bytes()]
}

pub fn listing(input: &[u8], _: &Scratch) -> bool {
    inferometer_bucket::is_listing(&String::from_utf8_lossy(input))
}
