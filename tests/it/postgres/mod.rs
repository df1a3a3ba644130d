//! The lower floor of the PostgreSQL store on a real server: `scripts/postgres-for-tests` starts one.
//!
//! Each test has a database of its own. Time is moved by hand: leases are aged in the table, nobody waits for them.

mod acts;
pub mod bench;
mod endings;
mod gates;
mod idle;
mod leases;
mod logins;
mod migrations;
mod money;
mod notices;
mod plans;
mod pooler;
pub mod restart;
mod spool;
mod standstill;
mod views;

use bench::{Bench, LEASE, SHORT, claimer};
