//! Writes to the terminal without panicking, because a reader may have closed the pipe.

use std::io::{self, ErrorKind, Write};

/// Why no command was run.
pub(super) enum Failure {
    /// The user asked for help or the version: its text.
    Help(String),
    /// The command line is invalid: one sentence.
    Sentence(String),
}

/// Writes a report to standard output and returns the exit code: `code`, even if the reader has closed the pipe
/// (`vivarium run | head`), or 3 if the output cannot be written.
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

/// Writes a line to standard error; an error of this write is ignored, because it cannot be reported.
pub(super) fn to_stderr(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}
