//! The record of a served run, written as it goes.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use vivarium_model::case::Case;
use vivarium_model::outside::Outside;
use vivarium_reports::case_file::first_line;
use vivarium_reports::recording::Line;
use vivarium_sim::served::Recorded;

/// Writes the record of a run into a case file, line by line.
#[derive(Debug)]
pub(super) struct Recorder {
    file: File,
}

impl Recorder {
    /// Creates the file.
    pub(super) fn create(path: &Path) -> io::Result<Recorder> {
        Ok(Recorder { file: File::create(path)? })
    }

    /// Writes the first line.
    pub(super) fn begin(&mut self, case: &Case) -> io::Result<()> {
        self.file.write_all(first_line(case).as_bytes())
    }

    /// Writes what has happened since.
    pub(super) fn add(&mut self, recorded: Recorded) -> io::Result<()> {
        let Recorded { outside, steps, hash, violation } = recorded;
        if steps.is_empty() && outside.is_empty() {
            return Ok(());
        }
        let outside = outside.iter().map(|input| Outside::clone(input)).collect();
        self.file.write_all(Line { outside, steps, hash, violation }.to_text().as_bytes())
    }
}
