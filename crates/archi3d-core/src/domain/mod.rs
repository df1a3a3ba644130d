//! What the words mean: ids, states, leases, patches, names.
//!
//! PURE: nothing in here touches files, clocks, the environment, threads or the
//! network, so every rule of the house can be tested by calling a function.

pub mod algo;
pub mod budget;
pub mod conflict;
pub mod content;
pub mod filter;
pub mod finding;
pub mod forecast;
pub mod glb;
pub mod id;
pub mod identity;
pub mod issue;
pub mod item;
pub mod item_name;
pub mod job;
pub mod kind;
pub mod lease;
pub mod limits;
pub mod money;
pub mod naming;
pub mod nearest;
pub mod notice;
pub mod order;
pub mod patch;
pub mod plan;
pub mod price;
pub mod products;
pub mod purchase;
pub mod rank;
pub mod reason;
pub mod reconcile;
pub mod retry;
pub mod secret;
pub mod select;
pub mod service;
pub mod spreadsheet;
pub mod text;
pub mod time;
pub mod traceparent;
