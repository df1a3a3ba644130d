//! `token create|list|revoke`: who may use the HTTP service, and for what.
//!
//! Only hashes of tokens are kept (`config/tokens.json`, for its owner alone); the token itself
//! is shown once, when it is made.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::domain::text::hex;
use crate::domain::time::Timestamp;
use crate::ops::{OpsContext, OpsError};
use crate::store::error::{IoContext as _, StoreError};
use crate::workspace::durable;
use crate::workspace::lock::FileLock;
use crate::workspace::paths::Workspace;

/// What every token begins with.
pub const PREFIX: &str = "a3d_";

/// The name of the token that a service makes for who starts it; nobody else has it.
pub const OF_SERVICE: &str = "serve";

/// A file of tokens is never longer than this.
const MOST_BYTES: u64 = 1 << 20;

/// How long another command is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a token allows; each role contains the ones before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// To look.
    Read,
    /// To judge models.
    Judge,
    /// To start, cancel and retry jobs.
    Submit,
    /// To open providers.
    Admin,
}

impl Role {
    /// Every role, the weakest first.
    pub const ALL: [Self; 4] = [Self::Read, Self::Judge, Self::Submit, Self::Admin];

    /// Returns the word for people and programs.
    pub fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Judge => "judge",
            Self::Submit => "submit",
            Self::Admin => "admin",
        }
    }
}

/// A token, as far as it is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Token {
    /// What it begins with, behind `a3d_`.
    pub id: String,
    /// Whose it is.
    pub name: String,
    /// What it allows.
    pub role: Role,
    /// The hash of the whole token.
    pub sha256: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// What may be ordered with it in a day, in dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub daily_cap_usd: Option<f64>,
}

/// A token that was just made.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NewToken {
    /// What is kept of it.
    #[serde(flatten)]
    pub kept: Token,
    /// What its owner shows; nobody can tell it again.
    pub token: String,
}

/// What a token is to be good for.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenRequest {
    /// Whose it is.
    pub name: String,
    /// What it allows.
    pub role: Role,
    /// What may be ordered with it in a day, in dollars.
    pub daily_cap_usd: Option<f64>,
}

/// The tokens of a workspace.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tokens {
    /// In the order in which they were made.
    pub tokens: Vec<Token>,
}

impl Tokens {
    /// Reads the tokens of a workspace; without a file there are none.
    pub fn read(context: &OpsContext) -> Result<Self, OpsError> {
        Ok(read(&context.workspace)?)
    }

    /// Returns the token that `shown` is, if it is one. Takes as long for every wrong one.
    pub fn find(&self, shown: &str) -> Option<&Token> {
        let hash = hash_of(shown);
        let mut found = None;
        for token in &self.tokens {
            if same(token.sha256.as_bytes(), hash.as_bytes()) {
                found = Some(token);
            }
        }
        found
    }
}

/// Makes a token that nothing keeps: for the life of a process.
pub fn mint(request: TokenRequest, now: Timestamp) -> NewToken {
    let id = Uuid::new_v4().simple().to_string()[..8].to_owned();
    // Two random numbers of 122 bits each, spread over 32 bytes.
    let mut secret = Sha256::new();
    secret.update(Uuid::new_v4().as_bytes());
    secret.update(Uuid::new_v4().as_bytes());
    let token = format!("{PREFIX}{id}_{}", hex(&secret.finalize()));
    NewToken {
        kept: Token {
            id,
            name: request.name,
            role: request.role,
            sha256: hash_of(&token),
            created_at: now,
            daily_cap_usd: request.daily_cap_usd,
        },
        token,
    }
}

/// Makes a token and keeps its hash.
pub fn create(context: &OpsContext, request: TokenRequest) -> Result<NewToken, OpsError> {
    context.expect_workspace()?;
    let name = request.name.trim().to_owned();
    let odd = |c: char| c.is_control() || c == '"' || c == '\\';
    if name.is_empty() || name.chars().count() > 80 || name.contains(odd) {
        return Err(setup(
            format!("a token cannot be called {name:?}"),
            "choose a name of 1 to 80 plain characters",
        ));
    }
    if name == OF_SERVICE {
        return Err(setup(
            format!("{name:?} is the token that a service makes for who starts it"),
            "choose another name",
        ));
    }
    let made = mint(TokenRequest { name, ..request }, context.clock.now());
    let kept = made.kept.clone();
    change(&context.workspace, |tokens| {
        if tokens.iter().any(|token| token.name == kept.name) {
            return Err(setup(
                format!("there is a token called {:?}", kept.name),
                "choose another name, or revoke that token first",
            ));
        }
        tokens.push(kept);
        Ok(())
    })?;
    Ok(made)
}

/// Takes a token back, by its name or id; returns what it was.
pub fn revoke(context: &OpsContext, name: &str) -> Result<Token, OpsError> {
    let mut gone = None;
    change(&context.workspace, |tokens| {
        let place = tokens
            .iter()
            .position(|token| token.name == name || token.id == name);
        let place = place.ok_or_else(|| {
            setup(
                format!("there is no token {name:?}"),
                "`archi3d token list` shows them",
            )
        })?;
        gone = Some(tokens.remove(place));
        Ok(())
    })?;
    Ok(gone.expect("removed above, or refused"))
}

fn setup(message: String, hint: &str) -> OpsError {
    OpsError::Setup {
        message,
        hint: Some(hint.to_owned()),
    }
}

fn path(workspace: &Workspace) -> PathBuf {
    workspace.config().join("tokens.json")
}

fn read(workspace: &Workspace) -> Result<Tokens, StoreError> {
    let path = path(workspace);
    let bytes = match durable::read_plain(&path, MOST_BYTES) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Tokens::default()),
        Err(error) => return Err(error).context("read", &path),
    };
    serde_json::from_slice(&bytes).map_err(|error| StoreError::Content {
        what: format!("it is no list of tokens: {error}"),
        path,
        hint: "restore it from a backup, or remove it and make new tokens".to_owned(),
    })
}

fn change(
    workspace: &Workspace,
    change: impl FnOnce(&mut Vec<Token>) -> Result<(), OpsError>,
) -> Result<(), OpsError> {
    let path = path(workspace);
    let folder = workspace.config();
    std::fs::create_dir_all(&folder).context("create", &folder)?;
    let lock = path.with_extension("lock");
    let held = FileLock::acquire_within(&lock, PATIENCE).context("lock", &lock)?;
    let _held = held.ok_or_else(|| {
        setup(
            "another command is changing the tokens".to_owned(),
            "try again in a moment",
        )
    })?;
    let mut tokens = read(workspace)?;
    change(&mut tokens.tokens)?;
    let text = serde_json::to_string_pretty(&tokens).expect("plain data can always be written");
    durable::replace_private(&path, format!("{text}\n").as_bytes(), "tokens")
        .context("write", &path)?;
    Ok(())
}

fn hash_of(token: &str) -> String {
    hex(&Sha256::digest(token.as_bytes()))
}

/// Compares in a time that tells nothing about where they differ.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_known_by_its_hash_alone() {
        let now = Timestamp::parse("2026-01-01T00:00:00Z").unwrap();
        let made = mint(
            TokenRequest {
                name: "ci".into(),
                role: Role::Submit,
                daily_cap_usd: None,
            },
            now,
        );
        assert_eq!(made.token.len(), "a3d_".len() + 8 + 1 + 64);
        let tokens = Tokens {
            tokens: vec![made.kept.clone()],
        };
        assert_eq!(tokens.find(&made.token), Some(&made.kept));
        assert_eq!(tokens.find(&made.kept.sha256), None);
        assert_eq!(tokens.find(&made.token.to_uppercase()), None);
        assert!(
            !serde_json::to_string(&tokens)
                .unwrap()
                .contains(&made.token)
        );
    }
}
