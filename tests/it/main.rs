//! The one integration binary: the program and its library as others meet them.
//!
//! - [`architecture`]: who may import whom, and what each layer must not do.
//! - [`batch`]: from the item table to the jobs of a run.
//! - [`catalog`]: from a dataset to the item table.
//! - [`fixtures`]: the shipped workspaces are what they claim to be.
//! - [`support`]: workspaces to run in, the real binary, and readers of what it leaves behind.
//! - [`support_check`]: the support itself does what tests rely on.

#![expect(
    clippy::disallowed_methods,
    reason = "tests set up files, environments and processes themselves"
)]
#![expect(
    unreachable_pub,
    reason = "a test binary exports nothing; `pub` here means for other modules"
)]

mod architecture;
mod batch;
mod catalog;
mod fixtures;
mod support;
mod support_check;
