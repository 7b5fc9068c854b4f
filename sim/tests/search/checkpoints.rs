//! Searches that are stopped and go on from their checkpoints, compared with searches that are not.

use super::models::{Graph, Grid};
use super::{bound, exhausted, options, run};
use proptest::prelude::{prop_assert, prop_assert_eq, proptest};
use std::path::{Path, PathBuf};
use std::time::Duration;
use vivarium_sim::every::{
    Bound, Checkpoint, Checkpoints, Ending, Model, Options, Outcome, Strategy,
};

/// Returns a file of this name for one test.
fn file(name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("checkpoints");
    std::fs::create_dir_all(&directory).expect("there is room for it");
    directory.join(name)
}

fn keeping(file: &Path, threads: usize) -> Options {
    let every = Duration::from_secs(3_600);
    let checkpoints = Some(Checkpoints { file: file.to_path_buf(), every });
    let of = "a search".to_string();
    Options { checkpoints, of, ..options(Strategy::BreadthFirst, threads) }
}

/// Searches, is stopped after every `most` further states, and goes on with another number of threads. Returns the last
/// outcome, and how often the search was stopped.
fn in_parts<M: Model>(model: &M, file: &Path, most: u64) -> (Outcome<M::Action>, usize) {
    let (mut resume, mut states) = (None, 0);
    for stops in 0.. {
        let options = keeping(file, 1 + stops % 2);
        let options = Options { max_states: Some(states + most), resume, ..options };
        let outcome = run(model, &options);
        if !outcome.is_stopped() {
            return (outcome, stops);
        }
        let checkpoint = Checkpoint::read(file).expect("it was just written");
        states = checkpoint.states();
        resume = Some(checkpoint);
    }
    unreachable!("a search ends");
}

/// A grid of 7 counters is stopped again and again. In the end it has as many states, and as many steps were taken, as
/// without a stop.
#[test]
fn a_search_in_parts_is_a_whole_one() {
    let grid = Grid { counters: 7, height: 3 };
    let (outcome, stops) = in_parts(&grid, &file("grid"), 1_000);
    assert_eq!(exhausted(&outcome), (grid.states(), 21));
    assert_eq!(outcome.statistics.generated, grid.generated());
    assert!(stops >= 10, "stopped {stops} times");
}

/// Checkpoints that are written every few milliseconds, while the search goes on, lose nothing either.
#[test]
fn a_search_goes_on_while_it_writes() {
    let grid = Grid { counters: 8, height: 3 };
    let file = file("while it goes on");
    let every = Duration::from_millis(1);
    let checkpoints = Some(Checkpoints { file: file.clone(), every });
    let outcome = run(&grid, &Options { checkpoints, ..keeping(&file, 2) });
    assert_eq!(exhausted(&outcome), (grid.states(), 24));
    assert_eq!(outcome.statistics.generated, grid.generated());
    // The last one is from somewhere on the way, as if the process had been killed after it.
    let checkpoint = Checkpoint::read(&file).expect("it was written");
    assert!(checkpoint.states() < grid.states());
    let outcome = run(&grid, &Options { resume: Some(checkpoint), ..keeping(&file, 1) });
    assert_eq!(exhausted(&outcome), (grid.states(), 24));
    assert_eq!(outcome.statistics.generated, grid.generated());
}

proptest! {
    /// Whatever the graph and wherever the search is stopped: the ending is the same, with the same shortest way to a
    /// violation.
    #[test]
    fn parts_find_what_the_whole_finds(graph in super::random::any_graph(), most in 1..6u64) {
        let whole = run(&graph, &options(Strategy::BreadthFirst, 1));
        let (parts, _) = in_parts(&graph, &file(&format!("graph {most}")), most);
        match (&whole.ending, &parts.ending) {
            // A stop that comes after a violation was found ends the search, which is then not sure that there is no
            // shorter way.
            (Ending::Violated(whole), Ending::Violated(parts)) if !parts.shortest => {
                prop_assert!(parts.length >= whole.length);
            }
            (Ending::Violated(whole), Ending::Violated(parts)) => prop_assert_eq!(whole, parts),
            _ => {
                prop_assert_eq!(exhausted(&whole), exhausted(&parts));
                prop_assert_eq!(whole.statistics.generated, parts.statistics.generated);
            }
        }
        prop_assert!(parts.statistics.resumed_at <= Some(parts.statistics.distinct));
    }
}

fn stopped(model: &impl Model, name: &str) -> PathBuf {
    let file = file(name);
    let outcome = run(model, &Options { max_states: Some(200), ..keeping(&file, 1) });
    assert!(outcome.is_stopped());
    file
}

/// A file that is cut off, or in which one bit is different, is refused, wherever that is.
#[test]
fn a_damaged_file_is_refused() {
    let file = stopped(&Grid { counters: 5, height: 3 }, "damaged");
    let whole = std::fs::read(&file).expect("it is there");
    let refused = |bytes: &[u8]| {
        std::fs::write(&file, bytes).expect("there is room for it");
        Checkpoint::read(&file).expect_err("it is not whole")
    };
    for at in (0..whole.len()).step_by(whole.len() / 60) {
        let cut = refused(&whole[..at]);
        assert!(cut.contains("cannot be re"), "{cut}");
        let mut other = whole.clone();
        other[at] ^= 1;
        let damaged = refused(&other);
        assert!(damaged.contains("cannot be re"), "{damaged}");
    }
    let mut longer = whole.clone();
    longer.push(0);
    assert!(refused(&longer).ends_with("it is cut off or damaged"));
    assert!(refused(b"something else").ends_with("it is no checkpoint of this format"));
    std::fs::write(&file, &whole).expect("there is room for it");
    assert!(Checkpoint::read(&file).is_ok());
}

/// A checkpoint of another search is left alone, and one of a model that has changed ends the search with a sentence.
#[test]
fn a_checkpoint_of_something_else_is_not_gone_on_from() {
    let grid = Grid { counters: 5, height: 3 };
    let checkpoint = Checkpoint::read(&stopped(&grid, "something else")).expect("it is whole");
    let resume = Some(checkpoint);
    let other = Options { of: "another search".to_string(), resume, ..keeping(&file("other"), 1) };
    let outcome = run(&grid, &other);
    assert_eq!(outcome.statistics.resumed_at, None);
    assert_eq!(exhausted(&outcome), (grid.states(), 15));
    // A model in which the same actions lead to other states, and one with fewer actions.
    let changed = Graph::new(&[(0, 1, 1), (1, 2, 1)]);
    for model in [&changed, &Graph::new(&[(1, 0, 1)])] {
        let options = Options { of: "a search".to_string(), ..other.clone() };
        let (by, ..) = bound(&run(model, &options));
        let Bound::Checkpoint(sentence) = by else { panic!("{by}") };
        assert!(sentence.starts_with("the same actions do not lead to the same states"));
    }
}

/// A checkpoint that cannot be written is reported, and the search goes on.
#[test]
fn a_search_goes_on_if_nothing_can_be_written() {
    use std::sync::Mutex;
    use vivarium_sim::every::{Observer, Progress, search};
    struct Hears(Mutex<Vec<String>>);
    impl Observer for Hears {
        fn progress(&self, _: &Progress) {}
        fn unwritten(&self, sentence: &str) {
            self.0.lock().expect("nothing panics").push(sentence.to_string());
        }
    }
    let grid = Grid { counters: 7, height: 3 };
    let hears = Hears(Mutex::default());
    let nowhere = file("no such directory").join("checkpoint");
    let outcome =
        search(&grid, &Options { max_states: Some(5_000), ..keeping(&nowhere, 1) }, &hears);
    assert!(outcome.is_stopped());
    let heard = hears.0.into_inner().expect("nothing panics");
    assert_eq!(heard.len(), 1, "{heard:?}");
    assert!(heard[0].contains("no such directory"), "{heard:?}");
}
