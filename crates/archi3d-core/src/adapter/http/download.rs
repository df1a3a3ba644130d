//! Files that a service made, on their way to us: without the account's key, in
//! pieces, going on where a broken connection ended, and whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use ureq::Body;
use ureq::http::Response;

use super::client::{Call, Client, Content, Trouble, shown};
use super::row::Made;

/// The largest file that is taken.
const MAX_BYTES: u64 = 8 << 30;

/// How often an address may send us on.
const MAX_REDIRECTS: usize = 5;

/// Why a file is not here.
#[derive(Debug)]
pub(super) enum Missing {
    /// The address is of no use any more.
    Gone(String),
    /// The connection failed; what is there can be gone on with.
    Broken(String),
    /// It can never be taken.
    Refused(String),
    /// Our own disk failed.
    Unwritten(io::Error),
}

/// A file that is being fetched.
#[derive(Debug)]
pub(super) struct Download {
    file: File,
    have: u64,
    /// What the file was when we began, as its sender marks it.
    etag: Option<String>,
}

impl Download {
    pub(super) fn new(path: &Path) -> io::Result<Self> {
        // A result of an earlier try is not continued: it may be another file.
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create_new(true).open(path)?;
        Ok(Self {
            file,
            have: 0,
            etag: None,
        })
    }

    /// Returns how many bytes are here.
    pub(super) fn have(&self) -> u64 {
        self.have
    }

    /// Fetches the rest of the file; returns its size.
    pub(super) fn fetch(&mut self, client: &Client, made: &Made) -> Result<u64, Missing> {
        let response = self.ask(client, &made.url)?;
        let status = response.status().as_u16();
        match status {
            200 => self.start_over()?,
            206 if self.goes_on(&response) => {}
            206 => {
                self.start_over()?;
                return Err(Missing::Broken(
                    "another part came than was asked for".to_owned(),
                ));
            }
            416 => {
                self.start_over()?;
                return Err(Missing::Broken("the file changed".to_owned()));
            }
            401 | 403 | 404 | 410 => {
                return Err(Missing::Gone(format!(
                    "{} answered {status}",
                    shown(&made.url)
                )));
            }
            408 | 425 | 429 | 500.. => {
                return Err(Missing::Broken(format!(
                    "{} answered {status}",
                    shown(&made.url)
                )));
            }
            _ => {
                return Err(Missing::Refused(format!(
                    "{} answered {status}",
                    shown(&made.url)
                )));
            }
        }
        let header = |name| {
            response
                .headers()
                .get(name)
                .and_then(|value| value.to_str().ok())
        };
        // What comes packed is unpacked, so neither its length nor its parts are the file's.
        let plain = header("content-encoding").is_none();
        self.etag = header("etag")
            .filter(|etag| plain && !etag.starts_with("W/"))
            .map(str::to_owned);
        let length = header("content-length").filter(|_| plain);
        let length = length.and_then(|text| text.parse::<u64>().ok());
        let whole = length.map(|length| length.saturating_add(self.have));
        if whole.or(made.size).is_some_and(|size| size > MAX_BYTES) {
            return Err(Missing::Refused("the file is larger than 8 GiB".to_owned()));
        }
        let (_, mut body) = response.into_parts();
        self.copy(&mut body.as_reader())?;
        let expected = whole.or(made.size);
        match expected {
            Some(size) if self.have < size => Err(Missing::Broken(format!(
                "only {} of {size} bytes came",
                self.have
            ))),
            // The address gave the whole of something else than the service said.
            _ if made.size.is_some_and(|size| size != self.have) => {
                let (have, size) = (self.have, made.size.unwrap_or_default());
                self.start_over()?;
                Err(Missing::Broken(format!(
                    "{have} bytes came, and it should be {size}"
                )))
            }
            _ => Ok(self.have),
        }
    }

    fn goes_on(&self, response: &Response<Body>) -> bool {
        let range = response.headers().get("content-range");
        let range = range
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default();
        range.starts_with(&format!("bytes {}-", self.have))
    }

    fn ask(&self, client: &Client, url: &str) -> Result<Response<Body>, Missing> {
        let mut url = url.to_owned();
        let range = format!("bytes={}-", self.have);
        let mut headers = vec![("accept", "*/*")];
        if let (Some(etag), true) = (&self.etag, self.have > 0) {
            headers.push(("range", &range));
            headers.push(("if-range", etag));
        }
        for _ in 0..=MAX_REDIRECTS {
            let call = Call {
                method: "GET",
                url: &url,
                headers: &headers,
                content: Content::None,
            };
            let response = client.open(call).map_err(|trouble| match trouble {
                Trouble::Unsent(text) | Trouble::Lost(text) => Missing::Broken(text),
            })?;
            let target = response.headers().get("location");
            let target = target.and_then(|value| value.to_str().ok());
            match (response.status().as_u16(), target) {
                (301 | 302 | 303 | 307 | 308, Some(target)) => {
                    let Some(next) = joined(&url, target) else {
                        return Err(Missing::Refused("it was sent on to nowhere".to_owned()));
                    };
                    url = next;
                }
                _ => return Ok(response),
            }
        }
        Err(Missing::Refused("it was sent on too often".to_owned()))
    }

    fn copy(&mut self, body: &mut impl Read) -> Result<(), Missing> {
        let mut piece = vec![0; 64 << 10];
        loop {
            let read = match body.read(&mut piece) {
                Ok(0) => return Ok(()),
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(Missing::Broken(error.to_string())),
            };
            self.file
                .write_all(&piece[..read])
                .map_err(Missing::Unwritten)?;
            self.have += read as u64;
            if self.have > MAX_BYTES {
                return Err(Missing::Refused("the file is larger than 8 GiB".to_owned()));
            }
        }
    }

    /// Forgets what is here.
    fn start_over(&mut self) -> Result<(), Missing> {
        self.have = 0;
        self.etag = None;
        let emptied = self.file.set_len(0);
        let emptied = emptied.and_then(|()| self.file.seek(SeekFrom::Start(0)));
        emptied.map(drop).map_err(Missing::Unwritten)
    }

    /// Returns the file from its start.
    pub(super) fn into_file(mut self) -> io::Result<File> {
        self.file.seek(SeekFrom::Start(0))?;
        Ok(self.file)
    }
}

/// Returns where `target` leads from `base`.
fn joined(base: &str, target: &str) -> Option<String> {
    if target.starts_with("https://") || target.starts_with("http://") {
        return Some(target.to_owned());
    }
    let scheme_end = base.find("://")? + 3;
    let host_end = base[scheme_end..].find(['/', '?', '#']);
    let host_end = host_end.map_or(base.len(), |at| scheme_end + at);
    if let Some(rest) = target.strip_prefix("//") {
        return Some(format!("{}{rest}", &base[..scheme_end]));
    }
    if target.starts_with('/') {
        return Some(format!("{}{target}", &base[..host_end]));
    }
    let path = shown(base);
    let folder = path.rfind('/').filter(|at| *at >= host_end)?;
    Some(format!("{}/{target}", &path[..folder]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_sends_on_is_followed() {
        let base = "https://a.b/files/x?sig=1";
        for (target, expected) in [
            ("https://c.d/y", "https://c.d/y"),
            ("/y?z=1", "https://a.b/y?z=1"),
            ("y", "https://a.b/files/y"),
            ("//c.d/y", "https://c.d/y"),
        ] {
            assert_eq!(joined(base, target).as_deref(), Some(expected));
        }
    }
}
