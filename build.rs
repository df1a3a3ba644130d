//! Records what a release is built from, for `archi3d --version --verbose`.
//!
//! `ARCHI3D_COMMIT` and `SOURCE_DATE_EPOCH` say it, else git does. There is no moment of building: two builds of one commit
//! are equal. Debug builds record no commit, so that not every commit builds them anew.

#![expect(
    clippy::disallowed_methods,
    reason = "a build script reads its environment and asks git"
)]

use std::env::var;
use std::process::Command;

fn main() {
    for name in ["ARCHI3D_COMMIT", "SOURCE_DATE_EPOCH"] {
        println!("cargo::rerun-if-env-changed={name}");
    }
    println!("cargo::rerun-if-changed=build.rs");
    let target = var("TARGET").unwrap_or_default();
    println!("cargo::rustc-env=ARCHI3D_TARGET={target}");
    let mut commit = var("ARCHI3D_COMMIT").ok();
    let mut moment = var("SOURCE_DATE_EPOCH").ok();
    if var("PROFILE").is_ok_and(|profile| profile == "release") {
        if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
            println!("cargo::rerun-if-changed={log}");
        }
        commit = commit.or_else(|| git(&["rev-parse", "--verify", "HEAD"]));
        moment = moment.or_else(|| git(&["show", "--no-patch", "--format=%ct", "HEAD"]));
    }
    let moment = moment.and_then(|seconds| utc(seconds.trim().parse().ok()?));
    println!(
        "cargo::rustc-env=ARCHI3D_BUILT_FROM={}",
        commit.unwrap_or_default()
    );
    println!(
        "cargo::rustc-env=ARCHI3D_BUILT_AT={}",
        moment.unwrap_or_default()
    );
}

fn git(words: &[&str]) -> Option<String> {
    let said = Command::new("git").args(words).output().ok()?;
    let text = String::from_utf8(said.stdout).ok()?;
    (said.status.success() && !text.trim().is_empty()).then(|| text.trim().to_owned())
}

/// Writes seconds since 1970 as a date and time, by the days of the Gregorian calendar.
fn utc(seconds: u64) -> Option<String> {
    let (days, rest) = (i64::try_from(seconds / 86_400).ok()?, seconds % 86_400);
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    Some(format!(
        "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"
    ))
}
