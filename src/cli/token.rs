//! `archi3d token`: who may use the HTTP service.

use clap::{Args, Subcommand, ValueEnum};
use serde::Serialize;

use crate::cli::Global;
use crate::cli::error::{CliError, Exit};
use crate::cli::table::{Fitted, Page};
use crate::cli::ui::Ui;
use archi3d_core::domain::text::one_line;
use archi3d_core::domain::time::Timestamp;
use archi3d_core::ops::tokens::{self, Role, Token, TokenRequest, Tokens};

/// What can be done with tokens.
#[derive(Debug, Subcommand)]
pub enum TokenCommand {
    /// Make a token and show it once
    Create(CreateArgs),
    /// Show who has a token, and for what
    List(ListArgs),
    /// Take a token back
    Revoke(RevokeArgs),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum RoleWord {
    /// Look at everything
    Read,
    /// Judge models too
    Judge,
    /// Start, cancel and retry jobs too
    Submit,
    /// Open providers too
    Admin,
}

/// The options of `token create`.
#[derive(Debug, Args)]
#[command(
    after_help = "The token is shown once; only its hash is kept, in config/tokens.json.

Examples:
  archi3d token create ci --role submit --daily-cap-usd 20
  export ARCHI3D_TOKEN=$(archi3d token create notebook)"
)]
pub struct CreateArgs {
    /// Whose it is
    name: String,
    /// What it allows
    #[arg(long, value_enum, value_name = "ROLE", default_value = "read")]
    role: RoleWord,
    /// What may be ordered with it in a day, in US dollars
    #[arg(long, value_name = "USD", value_parser = crate::cli::worker::dollars, allow_hyphen_values = true)]
    daily_cap_usd: Option<f64>,
}

/// The options of `token list`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  archi3d token list")]
pub struct ListArgs {}

/// The options of `token revoke`.
#[derive(Debug, Args)]
#[command(
    after_help = "A server that runs refuses the token from its next request on.

Examples:\n  archi3d token revoke ci"
)]
pub struct RevokeArgs {
    /// Its name, or its id
    name: String,
}

/// Carries out the command.
pub fn run(command: &TokenCommand, global: &Global, ui: &Ui) -> Result<Exit, CliError> {
    let context = global.context()?;
    match command {
        TokenCommand::Create(args) => {
            let role = match args.role {
                RoleWord::Read => Role::Read,
                RoleWord::Judge => Role::Judge,
                RoleWord::Submit => Role::Submit,
                RoleWord::Admin => Role::Admin,
            };
            let made = tokens::create(
                &context,
                TokenRequest {
                    name: args.name.clone(),
                    role,
                    daily_cap_usd: args.daily_cap_usd,
                },
            )?;
            if ui.is_json() {
                ui.answer(&Public {
                    token: Some(&made.token),
                    ..Public::of(&made.kept)
                })?;
            } else {
                ui.data(&made.token)?;
                ui.say("keep it: it is not shown again");
            }
        }
        TokenCommand::List(_) => {
            let tokens = Tokens::read(&context)?.tokens;
            if ui.is_json() {
                let all: Vec<_> = tokens.iter().map(Public::of).collect();
                ui.list("tokens", &all)?;
            } else {
                ui.data(&to_text(&tokens, Page::of_terminal()))?;
            }
        }
        TokenCommand::Revoke(args) => {
            let gone = tokens::revoke(&context, &args.name)?;
            if ui.is_json() {
                ui.answer(&Public::of(&gone))?;
            } else {
                ui.say(&format!(
                    "revoked: {} ({})",
                    one_line(&gone.name),
                    gone.role.word()
                ));
            }
        }
    }
    Ok(Exit::Done)
}

/// What is told of a token; itself only when it was just made.
#[derive(Serialize)]
struct Public<'a> {
    id: &'a str,
    name: &'a str,
    role: Role,
    created_at: Timestamp,
    daily_cap_usd: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<&'a str>,
}

impl<'a> Public<'a> {
    fn of(token: &'a Token) -> Self {
        Self {
            id: &token.id,
            name: &token.name,
            role: token.role,
            created_at: token.created_at,
            daily_cap_usd: token.daily_cap_usd,
            token: None,
        }
    }
}

fn to_text(tokens: &[Token], page: Page) -> String {
    if tokens.is_empty() {
        return "no tokens; `archi3d token create NAME` makes one".to_owned();
    }
    let mut table = Fitted::new(vec!["name", "role", "a day", "created", "id"]).cut(&[0]);
    for token in tokens {
        let cap = token.daily_cap_usd;
        table.row(vec![
            one_line(&token.name),
            token.role.word().to_owned(),
            cap.map(|usd| format!("${usd:.2}")).unwrap_or_default(),
            page.zone.minute(token.created_at),
            token.id.clone(),
        ]);
    }
    table.drop_empty();
    table.lines(page).join("\n")
}
