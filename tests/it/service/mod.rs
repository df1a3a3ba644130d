//! The HTTP service through the real binary: one run for one payload whatever dies, results with
//! their files, nothing for strangers, everything told.

mod contract;
mod reading;
mod safety;
mod submitting;
mod working;

use std::fmt::Write as _;

use crate::support::TestWorkspace;

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
