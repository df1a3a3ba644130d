//! Files as they are: whole or in part, under a strong tag.

use std::io::SeekFrom;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _};
use tokio_util::io::ReaderStream;

use archi3d_core::ops::artifacts::OpenedFile;

use crate::problem::{Problem, RANGE};

/// Tells whether the client has what the tag names.
pub(crate) fn matches(asked: &HeaderMap, etag: &str) -> bool {
    let shown = asked
        .get(header::IF_NONE_MATCH)
        .and_then(|value| value.to_str().ok());
    let mut tags = shown.unwrap_or_default().split(',').map(str::trim);
    // Both may be weak: they are compared by what they name.
    let strong = |tag: &str| tag.strip_prefix("W/").unwrap_or(tag).to_owned();
    tags.any(|tag| tag == "*" || strong(tag) == strong(etag))
}

/// Answers with a file or the part of it that is asked for.
pub(crate) fn respond(
    asked: &HeaderMap,
    opened: OpenedFile,
    media_type: &'static str,
    name: Option<&str>,
) -> Result<Response<Body>, Problem> {
    let etag = opened.sha256.as_ref().map(|sha256| format!("\"{sha256}\""));
    let mut response = Response::new(Body::empty());
    let headers = response.headers_mut();
    let mut set = |name, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    };
    if let Some(etag) = &etag {
        set(header::ETAG, etag);
    }
    set(header::ACCEPT_RANGES, "bytes");
    if etag.as_ref().is_some_and(|etag| matches(asked, etag)) {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        return Ok(response);
    }
    set(header::CONTENT_TYPE, media_type);
    if let Some(name) = name {
        set(
            header::CONTENT_DISPOSITION,
            &format!("attachment; filename=\"{name}\""),
        );
    }
    let part = part_of(asked, etag.as_deref(), opened.bytes)?;
    let (first, length) = part.unwrap_or((0, opened.bytes));
    set(header::CONTENT_LENGTH, &length.to_string());
    if part.is_some() {
        let last = first + length - 1;
        set(
            header::CONTENT_RANGE,
            &format!("bytes {first}-{last}/{}", opened.bytes),
        );
        *response.status_mut() = StatusCode::PARTIAL_CONTENT;
    }
    let file = tokio::fs::File::from_std(opened.file);
    let stream = futures_util::StreamExt::flat_map(
        futures_util::stream::once(async move {
            let mut file = file;
            let _ = file.seek(SeekFrom::Start(first)).await;
            file
        }),
        move |file| ReaderStream::new(file.take(length)),
    );
    *response.body_mut() = Body::from_stream(stream);
    Ok(response)
}

/// Returns where the part begins and how long it is; nothing means the whole. Several parts at
/// once, and what is no range, are answered with the whole.
fn part_of(
    asked: &HeaderMap,
    etag: Option<&str>,
    total: u64,
) -> Result<Option<(u64, u64)>, Problem> {
    let text = |name| {
        asked
            .get(name)
            .and_then(|value: &HeaderValue| value.to_str().ok())
    };
    let same = text(header::IF_RANGE).is_none_or(|tag| Some(tag) == etag);
    let Some(range) = text(header::RANGE).and_then(|range| range.strip_prefix("bytes=")) else {
        return Ok(None);
    };
    let Some((from, to)) = range
        .trim()
        .split_once('-')
        .filter(|_| same && !range.contains(','))
    else {
        return Ok(None);
    };
    let number = |text: &str| text.trim().parse::<u64>().ok();
    let (first, last) = match (number(from), number(to)) {
        (Some(first), None) if to.trim().is_empty() => (first, total.saturating_sub(1)),
        (Some(first), Some(last)) if last >= first => (first, last.min(total.saturating_sub(1))),
        (None, Some(end)) if from.trim().is_empty() => (
            total - end.min(total),
            if end == 0 { 0 } else { total.saturating_sub(1) },
        ),
        _ => return Ok(None),
    };
    if first >= total {
        return Err(Problem::new(RANGE, format!("the file has {total} bytes"))
            .header(header::CONTENT_RANGE, format!("bytes */{total}")));
    }
    Ok(Some((first, last - first + 1)))
}
