//! Shows the progress of a sweep or a search: a bar or a live line on a terminal, else a plain line every few seconds.

use super::output::to_stderr;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal, stderr};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use vivarium_reports::numbers::{grouped, span};
use vivarium_sim::every::{Observer, Progress};

/// The interval between plain lines.
const PAUSE: Duration = Duration::from_secs(5);

/// The interval between two pictures of a spinner.
const TICK: Duration = Duration::from_millis(100);

/// Shows the progress of a sweep.
pub(super) struct Meter {
    title: String,
    /// The unit of the counts.
    unit: &'static str,
    total: u64,
    begun: Instant,
    face: Face,
}

enum Face {
    Bar(ProgressBar),
    /// The instant of the last line.
    Lines(Mutex<Instant>),
}

impl Meter {
    /// Creates a meter for `total` seeds.
    pub(super) fn new(title: String, total: u64) -> Meter {
        Meter::counting("seeds", title, total)
    }

    /// Creates a meter for `total` operations.
    pub(super) fn of_operations(title: String, total: u64) -> Meter {
        Meter::counting("operations", title, total)
    }

    /// Creates a meter for `total` exhibits of the museum.
    pub(super) fn of_exhibits(title: String, total: u64) -> Meter {
        Meter::counting("exhibits", title, total)
    }

    /// Creates a meter for `total` runs.
    pub(super) fn of_runs(title: String, total: u64) -> Meter {
        Meter::counting("runs", title, total)
    }

    fn counting(unit: &'static str, title: String, total: u64) -> Meter {
        let begun = Instant::now();
        let face = if stderr().is_terminal() {
            Face::Bar(bar(&title, unit, total))
        } else {
            Face::Lines(Mutex::new(begun))
        };
        Meter { title, unit, total, begun, face }
    }

    /// Shows that `done` units are done.
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

    /// Clears the bar after the end of the sweep.
    pub(super) fn finish(&self) {
        if let Face::Bar(bar) = &self.face {
            bar.finish_and_clear();
        }
    }

    fn line(&self, done: u64) -> String {
        let seconds = self.begun.elapsed().as_secs().max(1);
        let (title, unit) = (&self.title, self.unit);
        let (rate, done, total) = (grouped(done / seconds), grouped(done), grouped(self.total));
        format!("{title}: {done} of {total} {unit}, {rate} {unit}/s")
    }
}

fn bar(title: &str, unit: &str, total: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
    let template = format!(
        "{{prefix}} [{{bar:30}}] {{human_pos}} of {{human_len}} {unit}, {{per_sec}}, {{eta}} left"
    );
    let style = ProgressStyle::with_template(&template).expect("the template is well formed");
    bar.set_style(style.progress_chars("=> "));
    bar.set_prefix(title.to_string());
    bar
}

/// Shows on a terminal that something without a known length goes on. Elsewhere it is silent.
pub(super) struct Spinner(ProgressBar);

impl Spinner {
    /// Shows this text until the spinner is dropped.
    pub(super) fn new(text: String) -> Spinner {
        let spinner = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template("{spinner} {msg}, {elapsed}");
        spinner.set_style(style.expect("the template is well formed"));
        spinner.set_message(text);
        spinner.enable_steady_tick(TICK);
        Spinner(spinner)
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// Shows the progress of a search.
pub(super) struct SearchMeter {
    title: String,
    face: Face,
}

impl SearchMeter {
    /// Creates a meter for a search.
    pub(super) fn new(title: String) -> SearchMeter {
        let face = if stderr().is_terminal() {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("{spinner} {wide_msg}");
            bar.set_style(style.expect("the template is well formed"));
            Face::Bar(bar)
        } else {
            Face::Lines(Mutex::new(Instant::now()))
        };
        SearchMeter { title, face }
    }

    /// Writes a line that stays.
    fn say(&self, words: &str) {
        let line = format!("{}: {words}", self.title);
        match &self.face {
            Face::Bar(bar) => bar.suspend(|| to_stderr(&line)),
            Face::Lines(_) => to_stderr(&line),
        }
    }

    /// Clears the bar after the end of the search.
    pub(super) fn finish(&self) {
        if let Face::Bar(bar) = &self.face {
            bar.finish_and_clear();
        }
    }
}

impl Observer for SearchMeter {
    fn progress(&self, progress: &Progress) {
        match &self.face {
            Face::Bar(bar) => {
                bar.set_message(search_line(&self.title, progress));
                bar.tick();
            }
            Face::Lines(last) => {
                let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
                if last.elapsed() >= PAUSE {
                    *last = Instant::now();
                    to_stderr(&search_line(&self.title, progress));
                }
            }
        }
    }

    fn resumed(&self, states: u64, depth: u32) {
        self.say(&format!("going on from {} states, to depth {depth}", grouped(states)));
    }

    fn waits_for(&self, process: &str) {
        self.say(&format!("waiting for {process}"));
    }

    fn unwritten(&self, sentence: &str) {
        self.say(&format!("no checkpoint could be written: {sentence}"));
    }
}

fn search_line(title: &str, progress: &Progress) -> String {
    let Progress { elapsed, generated, distinct, frontier, depth, .. } = *progress;
    let rate = generated as f64 / elapsed.as_secs_f64().max(1e-3);
    let mebibytes = progress.bytes() >> 20;
    let done =
        progress.estimate.and_then(|estimate| estimate.done(distinct.saturating_sub(frontier)));
    let done = done.filter(|_| frontier > 0).map(|done| done_so_far(done, elapsed));
    format!(
        "{title}: {} generated, {} distinct, {}/s, depth {depth}, frontier {}{}, {} MiB",
        grouped(generated),
        grouped(distinct),
        grouped(rate as u64),
        grouped(frontier),
        done.unwrap_or_default(),
        grouped(mebibytes)
    )
}

/// Returns the part of a line that tells how much is done, and how long the rest takes at the mean speed so far.
fn done_so_far((least, most): (u64, u64), elapsed: Duration) -> String {
    let rest = |done: u64| span(elapsed.mul_f64((100 - done) as f64 / done.max(1) as f64));
    format!(" (an estimated {least} to {most} % done, {} to {} left)", rest(most), rest(least))
}

#[cfg(test)]
mod tests {
    use super::*;
    use vivarium_sim::every::Estimate;

    #[test]
    fn a_line_of_a_search_has_all_its_figures() {
        let progress = Progress {
            elapsed: Duration::from_secs(2),
            generated: 3_000_000,
            distinct: 1_234_567,
            frontier: 4_321,
            depth: 17,
            estimate: None,
            visited_bytes: 40 << 20,
            frontier_bytes: 2 << 20,
            pieces_bytes: 300 << 20,
        };
        assert_eq!(
            search_line("lock", &progress),
            "lock: 3,000,000 generated, 1,234,567 distinct, 1,500,000/s, depth 17, frontier 4,321, \
             342 MiB"
        );
        let progress = Progress {
            estimate: Some(Estimate::Between { least: 1_500_000, most: 2_000_000 }),
            ..progress
        };
        assert_eq!(
            search_line("lock", &progress),
            "lock: 3,000,000 generated, 1,234,567 distinct, 1,500,000/s, depth 17, frontier 4,321 \
             (an estimated 61 to 82 % done, 439 ms to 1.2 s left), 342 MiB"
        );
    }
}
