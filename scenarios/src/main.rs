//! The `vivarium` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    vivarium::cli::main()
}
