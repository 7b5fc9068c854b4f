//! The record of a served run, written as it goes.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use vivarium_model::case::Case;
use vivarium_model::outside::Outside;
use vivarium_reports::case_file::first_line;
use vivarium_reports::recording::Line;
use vivarium_sim::served::Recorded;

/// Writes the record of a run into a case file, line by line.
#[derive(Debug)]
pub(super) struct Recorder {
    path: PathBuf,
    file: File,
}

impl Recorder {
    /// Creates the file.
    pub(super) fn create(path: &Path) -> io::Result<Recorder> {
        Ok(Recorder { path: path.to_path_buf(), file: File::create(path)? })
    }

    /// Copies what is written into another file.
    pub(super) fn copy(&self, to: &Path) -> io::Result<()> {
        if fs::canonicalize(to).ok() == fs::canonicalize(&self.path).ok() {
            return Err(io::Error::other("it is the record itself"));
        }
        fs::copy(&self.path, to).map(drop)
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
