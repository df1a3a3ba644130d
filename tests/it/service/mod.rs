//! The HTTP service through the real binary: one run for one payload whatever dies, results with
//! their files, nothing for strangers, everything told.

use std::any::Any;
use std::fmt::Write as _;
use std::fs::File;
use std::ops::Deref;

use crate::fleet::Fleet;
use crate::support::TestWorkspace;

/// Where runs that are asked for live.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Store {
    Files,
    Postgres,
}

/// A workspace, and the database that its settings name.
struct Home {
    workspace: TestWorkspace,
    fleet: Option<Fleet>,
}

impl Deref for Home {
    type Target = TestWorkspace;

    fn deref(&self) -> &TestWorkspace {
        &self.workspace
    }
}

impl Store {
    /// Makes a workspace with three products and no run; without a server there is none on PostgreSQL.
    fn home(self) -> Option<Home> {
        let fleet = match self {
            Self::Files => None,
            Self::Postgres => Some(Fleet::new()?),
        };
        let workspace = workspace();
        if let Some(fleet) = &fleet {
            let text = format!("store: \"{}\"\n", fleet.url);
            workspace.write("config/global.yaml", text.as_bytes());
        }
        Some(Home { workspace, fleet })
    }
}

impl Home {
    /// Keeps submissions from being carried out until what is returned is gone.
    fn hold_submissions(&self) -> Box<dyn Any> {
        if let Some(fleet) = &self.fleet {
            return Box::new(fleet.lock_tables("archi3d.orders, archi3d.idempotency_keys"));
        }
        let lock = File::create(self.path("tables/submissions.lock")).expect("ours");
        lock.lock().expect("nobody has it");
        Box::new(lock)
    }
}

/// Makes a test of each of these scenes on either store.
macro_rules! on_both_stores {
    ($($scene:ident),* $(,)?) => {
        mod on_files {
            $(#[test] fn $scene() { super::$scene(super::Store::Files); })*
        }
        mod on_postgres {
            $(#[test] fn $scene() { super::$scene(super::Store::Postgres); })*
        }
    };
}

mod capped;
mod contract;
mod crowds;
mod elsewhere;
mod figures;
#[cfg(feature = "failpoints")]
mod killing;
mod options;
mod reading;
mod retrying;
mod safety;
mod submitting;
mod telling;
mod terms;
#[cfg(feature = "otel")]
mod tracing;
mod watching;
mod working;

const ADAPTERS: &str = "adapters:
  free:
    kind: mock
    image_mode: single
    unit_price_usd: 0
  paid:
    kind: mock
    image_mode: single
    unit_price_usd: 0.25
  broken:
    kind: mock
    image_mode: single
    unit_price_usd: 0
    fail: it is broken
  slow:
    kind: mock
    image_mode: single
    unit_price_usd: 0
    wait_file: go
  often:
    kind: mock
    image_mode: single
    unit_price_usd: 0.25
    retries: 2
  unpriced:
    kind: mock
    image_mode: single
";

/// Makes a workspace with three products and no run.
fn workspace() -> TestWorkspace {
    let workspace = TestWorkspace::empty();
    let mut table =
        "product_id,variant,manufacturer,product_name,category_l1,category_l2,category_l3,\
         description,gt_object_path,image_1_path,image_2_path\n"
            .to_owned();
    for product in ["100001", "100002", "100003"] {
        let image = format!("dataset/{product}/{product}_A.jpg");
        // Pictures that are not alike: results of the same picture would be copied.
        workspace.write(&image, product.as_bytes());
        let _ = writeln!(
            table,
            "{product},default,Maker,Chair {product},Seats,,,,,{image},"
        );
    }
    workspace.write("tables/items.csv", table.as_bytes());
    workspace.write("config/adapters.yaml", ADAPTERS.as_bytes());
    workspace
}

/// Runs a command that must end so.
#[track_caller]
fn does(workspace: &TestWorkspace, arguments: &[&str], code: i32) {
    let _ = workspace.archi3d(arguments).run().expect_code(code);
}
