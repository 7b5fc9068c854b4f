//! How far a sweep is: a bar on a terminal, a plain line every few seconds elsewhere.

use super::output::to_stderr;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal, stderr};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use vivarium_reports::table::grouped;

/// How long a log stays without a line.
const PAUSE: Duration = Duration::from_secs(5);

/// Tells how far a sweep is.
pub(super) struct Meter {
    title: String,
    total: u64,
    begun: Instant,
    face: Face,
}

enum Face {
    Bar(ProgressBar),
    /// When the last line was written.
    Lines(Mutex<Instant>),
}

impl Meter {
    /// A meter for `total` seeds.
    pub(super) fn new(title: String, total: u64) -> Meter {
        let begun = Instant::now();
        let face = if stderr().is_terminal() {
            Face::Bar(bar(&title, total))
        } else {
            Face::Lines(Mutex::new(begun))
        };
        Meter { title, total, begun, face }
    }

    /// So many seeds are done.
    pub(super) fn update(&self, done: u64) {
        match &self.face {
            Face::Bar(bar) => bar.set_position(done),
            Face::Lines(last) => {
                let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
                if last.elapsed() >= PAUSE {
                    *last = Instant::now();
                    to_stderr(&self.line(done));
                }
            }
        }
    }

    /// The sweep has ended.
    pub(super) fn finish(&self) {
        if let Face::Bar(bar) = &self.face {
            bar.finish_and_clear();
        }
    }

    fn line(&self, done: u64) -> String {
        let seconds = self.begun.elapsed().as_secs().max(1);
        format!(
            "{}: {} of {} seeds, {} seeds/s",
            self.title,
            grouped(done),
            grouped(self.total),
            grouped(done / seconds)
        )
    }
}

fn bar(title: &str, total: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
    let template = "{prefix} [{bar:30}] {human_pos} of {human_len} seeds, {per_sec}, {eta} left";
    let style = ProgressStyle::with_template(template).expect("the template is well formed");
    bar.set_style(style.progress_chars("=> "));
    bar.set_prefix(title.to_string());
    bar
}
