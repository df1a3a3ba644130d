//! A file in a form, as browsers and `curl -F` send it (RFC 7578).

use axum::body::Bytes;
use axum::http::{HeaderMap, header};

/// The type of a form.
pub(crate) const TYPE: &str = "multipart/form-data";

/// Returns the content of the first file of a form, or the body itself where it is no form; nothing if the form has no file.
pub(crate) fn file(headers: &HeaderMap, body: &Bytes) -> Option<Bytes> {
    let kind = headers.get(header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let mut words = kind.split(';').map(str::trim);
    if !words
        .next()
        .is_some_and(|kind| kind.eq_ignore_ascii_case(TYPE))
    {
        return Some(body.clone());
    }
    let boundary = words.find_map(|word| {
        let (name, value) = word.split_once('=')?;
        name.eq_ignore_ascii_case("boundary")
            .then(|| value.trim_matches('"'))
    });
    let mark = format!("--{}", boundary.filter(|boundary| !boundary.is_empty())?);
    let mut at = find(body, mark.as_bytes(), 0)? + mark.len();
    loop {
        let end = find(body, mark.as_bytes(), at)?;
        let head_end = find(body, b"\r\n\r\n", at).filter(|found| *found < end)?;
        let head = String::from_utf8_lossy(&body[at..head_end]).to_ascii_lowercase();
        let from = head_end + 4;
        let to = end.checked_sub(2).filter(|to| *to >= from)?;
        if head.contains("filename=") || head.contains("content-type: image/") {
            return Some(body.slice(from..to));
        }
        at = end + mark.len();
    }
}

fn find(body: &[u8], wanted: &[u8], from: usize) -> Option<usize> {
    let rest = body.get(from..)?;
    let found = rest.windows(wanted.len()).position(|here| here == wanted);
    found.map(|place| from + place)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(kind: &str, body: &'static [u8]) -> Option<Bytes> {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, kind.parse().expect("plain"));
        file(&headers, &Bytes::from_static(body))
    }

    #[test]
    fn the_first_file_of_a_form_is_taken_byte_for_byte() {
        let form = b"--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--x\r\nContent-Disposition: form-data; \
                     name=\"p\"; filename=\"p.png\"\r\n\r\n\r\n--\r\n\0\r\n--x--\r\n";
        assert_eq!(
            read("multipart/form-data; boundary=\"x\"", form).as_deref(),
            Some(&b"\r\n--\r\n\0"[..])
        );
        assert_eq!(read("image/png", b"abc").as_deref(), Some(&b"abc"[..]));
    }

    #[test]
    fn what_is_no_form_has_no_file() {
        for (kind, body) in [
            ("multipart/form-data", &b"--x\r\n\r\n--x--"[..]),
            ("multipart/form-data; boundary=", b"--\r\n"),
            ("multipart/form-data; boundary=x", b""),
            ("multipart/form-data; boundary=x", b"--x--x--x"),
            (
                "multipart/form-data; boundary=x",
                b"--x\r\nfilename=\r\n\r\n--x--",
            ),
        ] {
            assert_eq!(read(kind, body), None, "{kind}");
        }
    }
}
