//! Runs that live in PostgreSQL, worked on by many machines: everything below the traits of the store.
//!
//! - [`url`], [`connect`], [`migrate`]: how to get in, and the schema.
//! - [`claim`], [`ending`], [`buying`], [`act`]: the life of a job, one function per statement.
//! - [`money`], [`gate`], [`reuse`]: what all workers share: caps, providers, breakers, earlier results.
//! - [`membership`], [`import`], [`hand_over`], [`export`], [`view`], [`keep`]: workers, runs that arrive and go, what people look
//!   at, what is forgotten.
//! - [`PgRuns`]: runs as people look at them, over all of these. [`fleet`]: what people ask of a server.
//! - [`spool`]: what could not be sent yet, on the worker's own disk. [`listen`]: what is new, if anybody tells.
//!
//! What holds whoever calls:
//! - every write of a holder names its attempt; one that is fenced changes nothing but its own record;
//! - only the database's clock is compared, and no lease is judged within one lease of the server's start;
//! - a function is one statement or one transaction, and [`Connection::transaction`] joins several;
//! - after [`PgError::Lost`] nobody knows whether the last call was committed: ask [`ending::became`] first.

pub mod act;
mod adopting;
mod ahead;
mod asked;
mod budget;
pub mod buying;
pub mod claim;
mod client;
pub mod connect;
mod earlier;
pub mod ending;
pub mod error;
pub mod export;
pub mod fleet;
mod folders;
mod following;
pub mod gate;
pub mod hand_over;
mod handing;
mod handle;
mod history;
pub mod import;
pub mod keep;
mod leaving;
mod left;
mod lines;
mod link;
pub mod listen;
pub mod membership;
pub mod migrate;
pub mod money;
pub mod notices;
mod opening;
pub mod orders;
mod passfile;
mod providers;
#[cfg(feature = "objects")]
mod putting;
mod reader;
pub mod record;
pub mod reuse;
mod runs;
pub mod spool;
pub mod statements;
mod telling;
mod times;
mod tls;
mod together;
mod unanswered;
pub mod url;
pub mod view;
mod wake;
mod worker;

pub use budget::PgBudget;
pub use claim::{Claimed, Hold, Lane};
pub use connect::Connection;
pub use error::{PgError, PgResult};
pub use fleet::PgFleet;
pub use lines::Lines;
pub use link::Link;
pub use opening::{Hand, PgStoreOptions, UNHEARD};
pub use providers::PgProviders;
pub use runs::PgRuns;
pub use tls::machine_certificates;
pub use url::StoreUrl;
pub use wake::Wake;
pub use worker::PgStore;
