//! What a bucket says when it refuses, as one line that names no key, no address with a signature and no body.

use std::error::Error as _;
use std::io;
use std::path::Path;

use object_store::Error;

use crate::store::error::StoreError;

/// Why something could not be had from a bucket, or put there.
#[derive(Debug, thiserror::Error)]
pub enum BucketError {
    /// It is not there.
    #[error("{0} is not in the bucket")]
    Missing(String),
    /// It is there, with other bytes.
    #[error("{0} is damaged in the bucket")]
    Damaged(String),
    /// The set-up is wrong: nothing will work until somebody sees to it.
    #[error("{what}")]
    Refused {
        /// What it said.
        what: String,
        /// What to do.
        hint: &'static str,
    },
    /// It does not answer, or has trouble of its own.
    #[error("{0}")]
    Away(String),
    /// The worker was told to stop.
    #[error("stopped on request")]
    Stopped,
    /// Our own disk.
    #[error(transparent)]
    Disk(#[from] StoreError),
}

impl BucketError {
    /// Names what was tried on a file of ours.
    pub(super) fn disk(action: &'static str, path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        Self::Disk(StoreError::Io {
            action,
            path,
            source,
        })
    }

    /// Says that a place is not, or not any more, the one that this database uses.
    pub(super) fn foreign(place: &str) -> Self {
        Self::Refused {
            what: format!(
                "{place} is not where this database keeps its files, or it is not mounted"
            ),
            hint: "mount it, or correct the endpoint (AWS_ENDPOINT_URL); if it is right, hand the run over again: archi3d fleet push",
        }
    }

    /// Returns what to do.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Refused { hint, .. } => hint,
            Self::Missing(_) | Self::Damaged(_) => {
                "a picture: archi3d fleet push puts it again; a result: restore it from a backup of the bucket, or make the job again: archi3d run worker --redo --jobs JOB"
            }
            Self::Away(_) | Self::Stopped | Self::Disk(_) => {
                "see to the network and the bucket, then run the same command again; nothing is lost"
            }
        }
    }
}

impl From<BucketError> for StoreError {
    fn from(error: BucketError) -> Self {
        let hint = error.hint().to_owned();
        match error {
            BucketError::Disk(error) => error,
            error => Self::Server {
                setup: matches!(error, BucketError::Refused { .. }),
                what: error.to_string(),
                hint,
            },
        }
    }
}

const KEYS: &str = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (s3://), GOOGLE_APPLICATION_CREDENTIALS (gs://), \
                    AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY (az://), in the environment or in .env";

/// Says what a bucket said of a thing that `shown` names.
pub(super) fn told(error: &Error, place: &str, shown: &str) -> BucketError {
    let text = chain(error);
    let code = between(&text, "<Code>", "</Code>").unwrap_or_default();
    let refused = |what: String, hint| BucketError::Refused { what, hint };
    let says = |words: &[&str]| {
        words
            .iter()
            .any(|word| code == *word || text.contains(word))
    };
    if says(&["NoSuchBucket", "ContainerNotFound", "bucket does not exist"]) {
        let what = format!("{place}: there is no such bucket");
        return refused(what, "make it, or correct --artifacts");
    }
    if says(&["RequestTimeTooSkewed"]) {
        let what = format!("{place}: the clock of this machine is too far from that of the bucket");
        return refused(what, "set the clock (timedatectl set-ntp true)");
    }
    if says(&[
        "InvalidAccessKeyId",
        "SignatureDoesNotMatch",
        "InvalidToken",
        "ExpiredToken",
    ]) || matches!(error, Error::Unauthenticated { .. })
    {
        return refused(format!("{place}: the credentials are refused"), KEYS);
    }
    if matches!(error, Error::PermissionDenied { .. }) || text.contains("403 Forbidden") {
        let what = format!("{place}: no permission for {shown}");
        return refused(
            what,
            "the role needs to list the bucket, and to get, put and delete below the prefix",
        );
    }
    if text.contains("169.254.169.254") || text.contains("metadata.google.internal") {
        return no_credentials(place);
    }
    if matches!(error, Error::NotFound { .. }) {
        return BucketError::Missing(shown.to_owned());
    }
    BucketError::Away(format!("{place} does not answer: {}", brief(&text, code)))
}

/// Tells whether a bucket says that it has no such function, as some do of putting a file only if its name is free.
pub(super) fn is_unknown_to_bucket(error: &Error) -> bool {
    let text = chain(error);
    matches!(
        error,
        Error::NotImplemented { .. } | Error::NotSupported { .. }
    ) || text.contains("501 Not Implemented")
        || between(&text, "<Code>", "</Code>") == Some("NotImplemented")
}

/// Says that nobody told who we are.
pub(super) fn no_credentials(place: &str) -> BucketError {
    BucketError::Refused {
        what: format!("{place}: there are no credentials, or those of this machine are refused"),
        hint: KEYS,
    }
}

/// What everything below an error says, the outermost first.
fn chain(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(" | ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

/// The one thing of it that helps: a status, a code, or the innermost cause.
fn brief(text: &str, code: &str) -> String {
    let status = between(text, "status code: ", ":").map(str::trim);
    match (status, code) {
        (Some(status), "") => status.to_owned(),
        (Some(status), code) => format!("{status} ({code})"),
        (None, _) => {
            let last = text.rsplit(" | ").next().unwrap_or(text);
            last.lines()
                .next()
                .unwrap_or(last)
                .chars()
                .take(160)
                .collect()
        }
    }
}

fn between<'a>(text: &'a str, from: &str, to: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(from)?;
    rest.split_once(to).map(|(inside, _)| inside)
}
