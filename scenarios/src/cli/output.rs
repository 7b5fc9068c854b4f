//! Writing to the terminal without ever panicking: a reader may have closed the pipe.

use std::io::{self, ErrorKind, Write};

/// Why no command was run.
pub(super) enum Failure {
    /// Help or the version was asked for: its text.
    Help(String),
    /// The command line makes no sense: one sentence.
    Sentence(String),
}

/// Writes a report to standard output and returns the exit code: `code`, also where nobody reads
/// to the end (`vivarium run | head`), and 3 where the output cannot be written.
pub(super) fn emit(text: &str, code: u8) -> u8 {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Ok(()) => code,
        Err(error) if error.kind() == ErrorKind::BrokenPipe => code,
        Err(error) => {
            to_stderr(&format!("error: the report cannot be written to standard output: {error}"));
            super::ERROR
        }
    }
}

/// Writes a line to standard error; where that is impossible, nobody can be told.
pub(super) fn to_stderr(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}
