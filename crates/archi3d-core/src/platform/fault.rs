//! Named places at which a test can make this process die, stop or fail.
//!
//! Every durable step has one before and one after it. `scripts/torture` goes
//! through all of them. Without the cargo feature `failpoints`, which is off unless
//! asked for, every function here is empty and nothing of it is in the program.
//! The environment says what happens where: `FAILPOINTS='claim.leased=1*return(kill)'`.
//! Actions: `kill`, `stop` (SIGSTOP), `EIO`, `ENOSPC`, and what the crate `fail` knows.

#[cfg(not(feature = "failpoints"))]
pub use absent::{clock_offset_ms, here, io};
#[cfg(feature = "failpoints")]
pub use present::{clock_offset_ms, here, io};

#[cfg(not(feature = "failpoints"))]
mod absent {
    use std::io;

    /// Does nothing.
    #[inline]
    pub fn here(_name: &'static str) {}

    /// Does nothing.
    #[inline]
    pub fn io(_name: &'static str) -> io::Result<()> {
        Ok(())
    }

    /// Returns nothing.
    #[inline]
    pub fn clock_offset_ms() -> i64 {
        0
    }
}

#[cfg(feature = "failpoints")]
mod present {
    use std::fs::{self, OpenOptions};
    use std::io::{self, Write};
    use std::sync::Once;

    /// The file that the name of every reached place is appended to.
    const TRACE: &str = "ARCHI3D_FAULT_TRACE";
    /// The file that says by how many milliseconds the wall clock is wrong.
    const CLOCK: &str = "ARCHI3D_FAULT_CLOCK";

    /// A place at which the process may die or stop.
    pub fn here(name: &'static str) {
        // What cannot be told to anybody is no error.
        let _ = reach(name);
    }

    /// A place at which the process may die or stop, or the disk may fail.
    pub fn io(name: &'static str) -> io::Result<()> {
        reach(name)
    }

    /// Returns by how many milliseconds the wall clock is to be wrong.
    pub fn clock_offset_ms() -> i64 {
        variable(CLOCK)
            .and_then(|path| fs::read_to_string(path).ok())
            .and_then(|text| text.trim().parse().ok())
            .unwrap_or_default()
    }

    fn reach(name: &'static str) -> io::Result<()> {
        static CONFIGURED: Once = Once::new();
        // Kept until the process ends: dropping it would clear the configuration.
        CONFIGURED.call_once(|| std::mem::forget(fail::FailScenario::setup()));
        trace(name);
        fail::fail_point!(name, |action: Option<String>| obey(
            name,
            action.as_deref().unwrap_or_default()
        ));
        Ok(())
    }

    fn obey(name: &str, action: &str) -> io::Result<()> {
        match action {
            "kill" => super::super::imp::kill_ourselves(),
            "stop" => super::super::imp::stop_ourselves(),
            "EIO" => return Err(io::Error::from_raw_os_error(5)),
            "ENOSPC" => return Err(io::Error::from_raw_os_error(28)),
            other => panic!("{name}: no such action: {other:?}"),
        }
        Ok(())
    }

    fn trace(name: &str) {
        let Some(path) = variable(TRACE) else { return };
        let opened = OpenOptions::new().create(true).append(true).open(path);
        if let Ok(mut file) = opened {
            let _ = file.write_all(format!("{name}\n").as_bytes());
        }
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "faults are set from outside and are no setting of the program"
    )]
    fn variable(name: &str) -> Option<String> {
        std::env::var(name).ok()
    }
}
