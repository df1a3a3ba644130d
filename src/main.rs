//! The `archi3d` program: hands its arguments to the command line and ends with
//! the exit code that comes back.

use std::process::ExitCode;

fn main() -> ExitCode {
    archi3d::cli::main(std::env::args_os())
}
