//! Where a bucket is: `s3://bucket/prefix`, `gs://…`, `az://container/…`, `file:///mnt/share`.

use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use object_store::ObjectStore;
use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{BackoffConfig, ClientOptions, RetryConfig};

use super::error::{BucketError, told};

/// The variables that say who we are, by the names that everybody uses.
pub const VARIABLES: &[&str] = &[
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
    "AWS_ENDPOINT",
    "AWS_ENDPOINT_URL",
    "AWS_ENDPOINT_URL_S3",
    "AWS_ENDPOINT_URL_STS",
    "AWS_METADATA_ENDPOINT",
    "AWS_ALLOW_HTTP",
    "AWS_VIRTUAL_HOSTED_STYLE_REQUEST",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_ROLE_ARN",
    "AWS_ROLE_SESSION_NAME",
    "AWS_SKIP_SIGNATURE",
    "AWS_UNSIGNED_PAYLOAD",
    "AWS_REQUEST_PAYER",
    "AWS_SERVER_SIDE_ENCRYPTION",
    "AWS_SSE_KMS_KEY_ID",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "GOOGLE_SERVICE_ACCOUNT",
    "GOOGLE_SERVICE_ACCOUNT_PATH",
    "GOOGLE_SERVICE_ACCOUNT_KEY",
    "GOOGLE_BASE_URL",
    "GOOGLE_SKIP_SIGNATURE",
    "AZURE_STORAGE_ACCOUNT_NAME",
    "AZURE_STORAGE_ACCOUNT_KEY",
    "AZURE_STORAGE_ACCESS_KEY",
    "AZURE_STORAGE_SAS_TOKEN",
    "AZURE_STORAGE_ENDPOINT",
    "AZURE_CLIENT_ID",
    "AZURE_CLIENT_SECRET",
    "AZURE_TENANT_ID",
    "AZURE_FEDERATED_TOKEN_FILE",
    "AZURE_STORAGE_USE_EMULATOR",
];

/// A request that takes longer than this is tried again: 8 MB at 30 kB/s.
const LONGEST: Duration = Duration::from_secs(300);

/// More than this no S3 copies in one request.
const COPIED: u64 = 5_000_000_000;

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scheme {
    S3,
    Google,
    Azure,
    Folder,
}

/// A place for bytes, as people name it; it holds no secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    scheme: Scheme,
    /// The bucket or container; empty for a folder.
    bucket: String,
    /// Below it, without slashes at the ends; a folder's whole path.
    prefix: String,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match self.scheme {
            Scheme::S3 => "s3",
            Scheme::Google => "gs",
            Scheme::Azure => "az",
            Scheme::Folder => "file",
        };
        write!(f, "{scheme}://{}", self.bucket)?;
        match self.prefix.as_str() {
            "" => Ok(()),
            prefix => write!(f, "/{prefix}"),
        }
    }
}

impl Place {
    /// Reads an address. What is wrong with it is said without repeating it: it may hold a secret.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let expected = "such as s3://bucket/prefix, gs://bucket/prefix, az://container/prefix or file:///mnt/share";
        let Some((scheme, rest)) = text.split_once("://") else {
            return Err(format!("the place for artifacts is no address, {expected}"));
        };
        let scheme = match scheme {
            "s3" => Scheme::S3,
            "gs" => Scheme::Google,
            "az" => Scheme::Azure,
            "file" => Scheme::Folder,
            other => {
                let other: String = other.chars().take(12).collect();
                return Err(format!(
                    "artifacts cannot lie at {other}://; name a place {expected}"
                ));
            }
        };
        if rest.contains('@') || rest.contains('?') || rest.contains('#') {
            return Err(
                "the address of artifacts must hold no credentials and no query; they come from \
                 variables such as AWS_ACCESS_KEY_ID"
                    .to_owned(),
            );
        }
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let prefix = prefix.trim_matches('/');
        let folder = scheme == Scheme::Folder;
        if folder && (!bucket.is_empty() || prefix.is_empty()) {
            return Err("a folder for artifacts is named as file:///ABSOLUTE/PATH".to_owned());
        }
        if !folder && bucket.is_empty() {
            return Err(format!(
                "the place for artifacts names no bucket, {expected}"
            ));
        }
        let odd = |part: &str| part == "." || part == ".." || part.is_empty();
        if !prefix.is_empty() && prefix.split('/').any(odd) {
            return Err("the place for artifacts has an empty or dotted part".to_owned());
        }
        Ok(Self {
            scheme,
            bucket: bucket.to_owned(),
            prefix: prefix.to_owned(),
        })
    }

    /// Returns a place of this name below; a folder is made.
    pub fn below(&self, name: &str) -> Result<Self, BucketError> {
        let prefix = format!("{}/{name}", self.prefix);
        let place = Self {
            prefix: prefix.trim_start_matches('/').to_owned(),
            ..self.clone()
        };
        if let Some(folder) = place.folder() {
            fs::create_dir(&folder).map_err(|error| BucketError::Refused {
                what: format!("{place}: {error}"),
                hint: "make it writable, or correct --artifacts",
            })?;
        }
        Ok(place)
    }

    /// Returns the folder that it is, if it is one.
    pub(super) fn folder(&self) -> Option<PathBuf> {
        (self.scheme == Scheme::Folder).then(|| PathBuf::from(format!("/{}", self.prefix)))
    }

    /// How large a thing may be that is copied within the bucket in one request. S3 takes 5 GB.
    pub(super) fn most_copied(&self) -> u64 {
        match self.scheme {
            Scheme::S3 => COPIED,
            _ => u64::MAX,
        }
    }

    /// Tells whether any variable says who we are; without one the cloud's own machines may still know.
    pub(super) fn has_keys(&self, variable: &dyn Fn(&str) -> Option<String>) -> bool {
        let names: &[&str] = match self.scheme {
            Scheme::S3 => &[
                "AWS_ACCESS_KEY_ID",
                "AWS_WEB_IDENTITY_TOKEN_FILE",
                "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
                "AWS_CONTAINER_CREDENTIALS_FULL_URI",
                "AWS_SKIP_SIGNATURE",
            ],
            _ => return true,
        };
        names
            .iter()
            .any(|name| variable(name).is_some_and(|value| !value.is_empty()))
    }

    /// Returns what talks to it, and the prefix below which everything is. Nothing is asked yet.
    pub(super) fn open(
        &self,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<(Arc<dyn ObjectStore>, Path), BucketError> {
        if self.folder().is_some_and(|folder| !folder.is_dir()) {
            return Err(BucketError::Refused {
                what: format!("{self}: there is no such folder"),
                hint: "make it, or mount it, or correct --artifacts",
            });
        }
        let built = self.build(variable);
        built.map_err(|error| match told(&error, &self.to_string(), "") {
            BucketError::Refused { what, hint } => BucketError::Refused { what, hint },
            // Nothing was asked, so it is the set-up.
            other => BucketError::Refused {
                what: format!("{self}: {other}"),
                hint: "see to the variables of the cloud in the environment and in .env",
            },
        })
    }

    fn build(
        &self,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> object_store::Result<(Arc<dyn ObjectStore>, Path)> {
        let retry = RetryConfig {
            backoff: BackoffConfig {
                init_backoff: Duration::from_millis(200),
                max_backoff: Duration::from_secs(2),
                base: 2.0,
            },
            max_retries: 3,
            retry_timeout: Duration::from_secs(15),
        };
        let is_set = |name: &&&str| variable(name).is_some_and(|value| !value.is_empty());
        let set = VARIABLES.iter().filter(is_set);
        let set = set.map(|name| {
            (
                name.to_ascii_lowercase(),
                variable(name).unwrap_or_default(),
            )
        });
        let own = |cloud: &'static str| {
            let ours = move |(name, _): &(String, String)| name.starts_with(cloud);
            set.clone().filter(ours)
        };
        // Plain HTTP to this very machine harms nobody; elsewhere it must be asked for.
        let near = |value: &str| {
            ["http://127.0.0.1", "http://localhost", "http://[::1]"]
                .iter()
                .any(|here| value.starts_with(here))
        };
        let plain = set.clone().any(|(name, value)| {
            let is_address = name.contains("endpoint") || name == "google_base_url";
            is_address && near(&value) || name == "aws_allow_http" && value == "true"
        });
        let client = ClientOptions::new()
            .with_timeout(LONGEST)
            .with_connect_timeout(CONNECT)
            .with_allow_http(plain);
        let below = || Path::parse(&self.prefix).map_err(object_store::Error::from);
        Ok(match self.scheme {
            Scheme::Folder => {
                let root = PathBuf::from(format!("/{}", self.prefix));
                let folder = LocalFileSystem::new_with_prefix(root)?;
                (Arc::new(folder.with_fsync(true)), Path::default())
            }
            Scheme::S3 => {
                let mut builder = AmazonS3Builder::new().with_region("us-east-1");
                for (name, value) in own("aws_") {
                    builder = builder.with_config(name.parse()?, value);
                }
                let builder = builder.with_bucket_name(&self.bucket).with_retry(retry);
                let store = builder.with_client_options(client).build()?;
                (Arc::new(store), below()?)
            }
            Scheme::Google => {
                let mut builder = GoogleCloudStorageBuilder::new();
                for (name, value) in own("google_") {
                    builder = builder.with_config(name.parse()?, value);
                }
                let builder = builder.with_bucket_name(&self.bucket).with_retry(retry);
                let store = builder.with_client_options(client).build()?;
                (Arc::new(store), below()?)
            }
            Scheme::Azure => {
                let mut builder = MicrosoftAzureBuilder::new();
                for (name, value) in own("azure_") {
                    builder = builder.with_config(name.parse()?, value);
                }
                let builder = builder.with_container_name(&self.bucket).with_retry(retry);
                let store = builder.with_client_options(client).build()?;
                (Arc::new(store), below()?)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_and_shown_in_one_way() {
        for (text, shown) in [
            ("s3://b/p/q/", "s3://b/p/q"),
            ("s3://b", "s3://b"),
            ("gs://b/x", "gs://b/x"),
            ("az://c/x", "az://c/x"),
            (" file:///mnt/share/ ", "file:///mnt/share"),
        ] {
            assert_eq!(Place::parse(text).expect(text).to_string(), shown);
        }
    }

    #[test]
    fn what_is_no_place_is_refused_without_repeating_it() {
        for text in [
            "bucket",
            "http://x/y",
            "s3://",
            "s3:///x",
            "file://host/x",
            "file:///",
            "s3://key:secret@b/p",
            "s3://b/p?sig=secret",
            "s3://b/../c",
        ] {
            let refusal = Place::parse(text).expect_err(text);
            assert!(!refusal.contains("secret"), "{refusal}");
        }
    }
}
