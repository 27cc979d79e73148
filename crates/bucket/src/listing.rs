//! What stores say in XML: pages of a listing, uploads begun, and why something was refused.

use crate::xml::{NotXml, scan};
use inferometer_text::hostile::printable;

/// An object as a listing has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Object {
    pub key: String,
    pub bytes: u64,
    /// Its version, without quotes.
    pub etag: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Page {
    pub objects: Vec<Object>,
    /// What to ask the next page with, if there is one.
    pub next: Option<String>,
}

/// Whether a text is a page of a listing; for those who feed it with anything.
pub fn is_listing(text: &str) -> bool {
    Page::read(text).is_ok()
}

impl Page {
    /// A page of S3's `ListBucketResult` or Azure's `EnumerationResults`.
    pub fn read(text: &str) -> Result<Self, NotXml> {
        let mut page = Page::default();
        let mut object = Object::default();
        let (mut is_listing, mut is_last, mut is_odd) = (false, false, false);
        scan(text, |path, text| {
            let (Some((root, path)), text) = (path.split_first(), text.unwrap_or_default()) else {
                return;
            };
            if !["ListBucketResult", "EnumerationResults"].contains(root) {
                return;
            }
            match path {
                ["Contents", "Key"] | ["Blobs", "Blob", "Name"] => object.key = text,
                ["Contents", "ETag"] | ["Blobs", "Blob", "Properties", "Etag"] => {
                    object.etag = unquoted(&text);
                }
                ["Contents", "Size"] | ["Blobs", "Blob", "Properties", "Content-Length"] => {
                    match text.trim().parse() {
                        Ok(bytes) => object.bytes = bytes,
                        Err(_) => is_odd = true,
                    }
                }
                ["Contents"] | ["Blobs", "Blob"] => {
                    let object = std::mem::take(&mut object);
                    is_odd |= object.key.is_empty();
                    page.objects.push(object);
                }
                ["NextContinuationToken" | "NextMarker"] if !text.is_empty() => {
                    page.next = Some(text);
                }
                ["IsTruncated"] => is_last = text.trim() == "false",
                [] => is_listing = true,
                _ => {}
            }
        })?;
        if is_odd || !is_listing {
            return Err(NotXml);
        }
        page.next = page.next.filter(|_| !is_last);
        Ok(page)
    }
}

/// The version of an object as it is compared: headers have it in quotes, Azure's listings not.
pub(crate) fn unquoted(etag: &str) -> String {
    etag.trim().trim_matches('"').to_owned()
}

/// What an answer says beside its status: single texts by their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Said {
    /// Such as `NoSuchBucket`.
    pub code: Option<String>,
    pub message: Option<String>,
    /// Where the bucket is, where that is the trouble.
    pub region: Option<String>,
    /// The name of an upload in parts that was begun.
    pub upload: Option<String>,
    /// The version of an object that was put together from parts.
    pub etag: Option<String>,
}

impl Said {
    /// Empty where it is no XML.
    pub fn read(text: &str) -> Self {
        let mut said = Said::default();
        let short = |text: Option<String>, most| text.map(|text| printable(text.trim(), most));
        let scanned = scan(text, |path, text| match path {
            ["Error", "Code"] => said.code = short(text, 60),
            ["Error", "Message"] => said.message = short(text, 200),
            ["Error", "Region"] => said.region = short(text, 40),
            ["InitiateMultipartUploadResult", "UploadId"] => said.upload = text,
            ["CompleteMultipartUploadResult", "ETag"] => said.etag = text.as_deref().map(unquoted),
            _ => {}
        });
        match scanned {
            Ok(()) => said,
            Err(NotXml) => Said::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_both_kinds_are_read() {
        let s3 = "<?xml version=\"1.0\"?><ListBucketResult xmlns=\"x\"><Name>b</Name><IsTruncated>true</IsTruncated>\
            <Contents><Key>a/b&amp;c</Key><LastModified>x</LastModified><ETag>&quot;e1&quot;</ETag><Size>12</Size><Owner><ID>i</ID></Owner></Contents>\
            <Contents><Key>d</Key><ETag>\"e2\"</ETag><Size>0</Size></Contents>\
            <NextContinuationToken>t=</NextContinuationToken></ListBucketResult>";
        let page = Page::read(s3).unwrap();
        assert_eq!(page.next.as_deref(), Some("t="));
        let object = |key: &str, bytes, etag: &str| Object {
            key: key.into(),
            bytes,
            etag: etag.into(),
        };
        assert_eq!(
            page.objects,
            [object("a/b&c", 12, "e1"), object("d", 0, "e2")]
        );
        let azure = "\u{feff}<?xml version=\"1.0\" encoding=\"utf-8\"?><EnumerationResults ServiceEndpoint=\"x\"><Prefix>p</Prefix>\
            <Blobs><Blob><Name>p/a</Name><Properties><Content-Length>7</Content-Length><Etag>0x8</Etag></Properties></Blob></Blobs><NextMarker /></EnumerationResults>";
        let page = Page::read(azure).unwrap();
        assert_eq!(page.objects, [object("p/a", 7, "0x8")]);
        assert_eq!(page.next, None);
        let none = "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>";
        assert_eq!(Page::read(none), Ok(Page::default()));
        assert_eq!(
            Page::read("<EnumerationResults><Blobs/></EnumerationResults>"),
            Ok(Page::default())
        );
    }

    #[test]
    fn what_is_no_listing_is_refused() {
        for bad in [
            "<Error><Code>x</Code></Error>",
            "<html></html>",
            "{}",
            "<ListBucketResult><Contents><Key>a</Key><Size>many</Size></Contents></ListBucketResult>",
            "<ListBucketResult><Contents><Size>1</Size></Contents></ListBucketResult>",
        ] {
            assert!(Page::read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn reasons_are_read_and_made_printable() {
        let said = Said::read(
            "<Error><Code>No\u{1b}Such</Code><Message>gone</Message><Region>eu</Region></Error>",
        );
        assert_eq!(said.code.as_deref(), Some("No\u{fffd}Such"));
        assert_eq!(said.message.as_deref(), Some("gone"));
        assert_eq!(said.region.as_deref(), Some("eu"));
        assert_eq!(Said::read("<html>"), Said::default());
    }
}
