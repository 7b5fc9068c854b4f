//! `vivarium explore`, and the replay of its findings, as users see them.
#![cfg(feature = "cli")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use vivarium_model::release::Bug;

/// Creates an empty directory for a test.
pub(crate) fn directory(test: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("explore-command").join(test);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).expect("cargo's directory is writable");
    path
}

pub(crate) fn vivarium(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vivarium"));
    command.args(arguments).current_dir(directory).env_remove("CARGO");
    command.output().expect("the binary was built")
}

/// Runs a command that must end with this code, and returns its output.
pub(crate) fn said(directory: &Path, arguments: &[&str], code: i32) -> String {
    let output = vivarium(directory, arguments);
    let text = String::from_utf8(output.stdout).expect("reports are text");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {text}{errors}");
    text
}

/// Returns the message with which a command is refused.
pub(crate) fn refused(arguments: &[&str]) -> String {
    let output = vivarium(Path::new(env!("CARGO_TARGET_TMPDIR")), arguments);
    let sentence = String::from_utf8(output.stderr).expect("messages are text");
    assert_eq!(output.status.code(), Some(3), "{arguments:?}: {sentence}");
    let sentence = sentence.trim_end().strip_prefix("error: ").map(str::to_string);
    sentence.unwrap_or_else(|| panic!("{arguments:?}"))
}

pub(crate) fn field<'a>(report: &'a str, name: &str) -> &'a str {
    let lines = report.lines().filter_map(|line| line.strip_prefix("  ")?.strip_prefix(name));
    lines.map(str::trim).next().unwrap_or_else(|| panic!("no {name} in\n{report}"))
}

#[test]
fn words_that_make_no_sense() {
    let sentence = refused(&["explore"]);
    assert_eq!(sentence, "`explore` needs a scenario, such as `vivarium explore lock`");
    assert_eq!(refused(&["explore", "lokc"]), "unknown scenario `lokc`: did you mean `lock`?");
    let sentence = refused(&["explore", "lock", "--bug", "NoGid"]);
    assert_eq!(sentence, "unknown bug `NoGid` of scenario `lock`: did you mean `NoGuid`?");
    let sentence = refused(&["explore", "lock", "--lots", "1"]);
    assert_eq!(sentence, "unknown flag `--lots`: did you mean `--lost`?");
    let sentence = refused(&["explore", "lock", "--lost", "many"]);
    assert_eq!(sentence, "`--lost many` is not a number: write e.g. `--lost 2`");
    let sentence = refused(&["explore", "lock", "--lost", "300"]);
    assert_eq!(sentence, "`--lost 300` is too many: give at most 63");
    assert_eq!(refused(&["explore", "lock", "--clients", "0"]), "`--clients 0`: give at least 1");
    let sentence = refused(&["explore", "lock", "--max-memory", "4X"]);
    assert!(sentence.starts_with("`--max-memory 4X` is not a size of memory"), "{sentence}");
    let sentence = refused(&["explore", "lock", "--grain", "servise"]);
    assert_eq!(sentence, "unknown grain `servise`: did you mean `service`?");
    let sentence = refused(&["explore", "lock", "--grain", "ensemble"]);
    assert_eq!(sentence, "`lock` is explored over the service grain only");
    let sentence = refused(&["explore", "lock", "--serve", "nowhere"]);
    assert!(sentence.starts_with("no browser can be served at `nowhere`: "), "{sentence}");
    let sentence = refused(&["explore", "churn"]);
    assert!(sentence.starts_with("`churn` cannot be explored: "), "{sentence}");
    let sentence = refused(&["run", "lock", "--lost", "1"]);
    assert_eq!(
        sentence,
        "`--lost` belongs to the command `explore`: write `vivarium explore --lost …`"
    );
}

#[test]
fn a_search_that_sees_everything_holds() {
    let directory = directory("exhausted");
    let text = said(&directory, &["explore", "lock", "--junit", "junit.xml"], 0);
    assert!(text.contains("lock: held in all "), "{text}");
    assert!(text.contains(" fates of a lost reply       out   --lost brings it in"), "{text}");
    let xml = fs::read_to_string(directory.join("junit.xml")).expect("it was asked for");
    assert!(xml.contains("explorations") && !xml.contains("<failure"), "{xml}");
    assert!(!directory.join("cases").exists());
}

#[test]
fn a_search_that_is_stopped_is_inconclusive() {
    let directory = directory("bounded");
    let words = ["explore", "lock", "--lost", "1", "--max-states", "1000"];
    let text = said(&directory, &words, 2);
    assert!(text.contains("inconclusive: stopped by 1,000 states after "), "{text}");
}

/// The first Ctrl-C ends the search, which still reports; so do the signals that end processes and terminals.
#[test]
#[cfg(unix)]
fn a_signal_ends_a_search_with_its_report() {
    for signal in ["-INT", "-TERM", "-HUP"] {
        ends_with_its_report(signal);
    }
}

#[cfg(unix)]
fn ends_with_its_report(signal: &str) {
    use std::io::{BufRead, BufReader, Read};
    let directory = directory("signal");
    let mut child = Command::new(env!("CARGO_BIN_EXE_vivarium"))
        .args(["explore", "lock", "--clients", "4", "--lost", "2", "--expiries", "2"])
        .current_dir(&directory)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary was built");
    let mut progress = String::new();
    let mut stderr = BufReader::new(child.stderr.take().expect("it is piped"));
    stderr.read_line(&mut progress).expect("it is text");
    assert!(progress.starts_with("lock: ") && progress.contains(" distinct, "), "{progress}");
    let kill = Command::new("kill").args([signal, &child.id().to_string()]).status();
    assert!(kill.expect("there is a kill").success());
    let mut text = String::new();
    child.stdout.take().expect("it is piped").read_to_string(&mut text).expect("it is text");
    assert_eq!(child.wait().expect("it ends").code(), Some(2), "{text}");
    assert!(
        text.contains("inconclusive: stopped by Ctrl-C or another signal to end after "),
        "{text}"
    );
}

#[test]
fn a_violation_is_told_step_by_step_and_its_case_replays() {
    let directory = directory("violation");
    let words = ["explore", "lock", "--lost", "1", "--bug", "NoGuid"];
    let text = said(&directory, &words, 1);
    assert_eq!(field(&text, "property"), "lock M6 no self-wait");
    assert!(field(&text, "way").ends_with(", and no shorter violation exists"), "{text}");
    let (file, hash) = (field(&text, "case file"), field(&text, "hash"));
    assert_eq!(file, "cases/lock-NoGuid-explored.json");
    assert!(field(&text, "replay").ends_with(&format!(" replay {file} --timeline")), "{text}");

    let again = said(&directory, &["replay", file, "--timeline"], 1);
    assert_eq!((field(&again, "hash"), field(&again, "saw")), (hash, field(&text, "saw")));
    assert!(again.contains(&format!("gave the recorded run: hash {hash}\n")), "{again}");
    assert!(again.ends_with("The recorded violation occurred again.\n"), "{again}");
    let steps = |text: &str| {
        let from = text.find("Step by step:\n").expect("they are told");
        let told = text[from..].lines().skip(1).take_while(|line| !line.is_empty());
        told.map(str::to_string).collect::<Vec<_>>()
    };
    assert_eq!(steps(&text), steps(&again), "every step is told, by both");
    assert!(said(&directory, &["replay", file, "--timeline=2"], 1).contains("The last 2 steps:\n"));

    let mended = fs::read_to_string(directory.join(file)).expect("it was just written");
    let mended = mended.replace("\"bugs\": [\"NoGuid\"]", "\"bugs\": []");
    fs::write(directory.join("mended.json"), mended).expect("the directory is writable");
    let held = said(&directory, &["replay", "mended.json"], 2);
    assert!(held.contains("The replay is NOT the recorded run: "), "{held}");
    assert!(held.contains("The recorded violation did not occur: lock M6"), "{held}");
    assert!(held.contains("recorded steps were not enabled and skipped, first step "), "{held}");
}

#[test]
fn json_is_the_whole_of_standard_output() {
    let directory = directory("json");
    let words = ["explore", "lock", "--bug", "ExistsNullSleeps", "--json"];
    let text = said(&directory, &words, 1);
    let document: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(document["format"], "vivarium-exploration");
    assert_eq!(document["exit_code"], 1);
    let exploration = &document["explorations"][0];
    assert_eq!(exploration["verdict"], "violated");
    assert_eq!(exploration["violation"]["property"], "progress");
    let timeline = exploration["violation"]["timeline"].as_array().expect("lines");
    let length = exploration["violation"]["length"].as_u64().expect("a number");
    assert!(timeline.len() as u64 > length);
}

#[test]
fn flags_of_the_other_grain_are_refused() {
    let sentence = refused(&["explore", "lock", "--crashes", "1"]);
    assert_eq!(
        sentence,
        "`--crashes` belongs to the ensemble grain, and `lock` is explored over the service grain"
    );
    let sentence = refused(&["explore", "broadcast", "--lost", "0"]);
    assert_eq!(
        sentence,
        "`--lost` belongs to the service grain, and `broadcast` is explored over the ensemble grain"
    );
    let sentence = refused(&["explore", "broadcast", "--grain", "service"]);
    assert_eq!(sentence, "`broadcast` is explored over the ensemble grain only");
    let sentence = refused(&["explore", "broadcast", "--servers", "6"]);
    assert_eq!(sentence, "`--servers 6` is too many: give at most 5");
    let sentence = refused(&["explore", "lock", "--clients", "9"]);
    assert_eq!(sentence, "`--clients 9` is too many: give at most 8");
    let sentence = refused(&["explore", "broadcast", "--election", "orakle"]);
    assert_eq!(sentence, "unknown election `orakle`: did you mean `oracle`?");
}

/// A quiet "held" would be worthless.
#[test]
fn a_search_says_which_defects_of_a_release_it_may_not_show() {
    let sentence = refused(&["explore", "lock", "--release", "3.8.0"]);
    assert_eq!(
        sentence,
        "`3.8.0` cannot be found by a search of `lock`: the service grain has no servers to have its defects; sweep it \
         with that release"
    );
    let nothing = ["--servers", "1", "--txns", "0", "--crashes", "0"];
    let asked = ["explore", "broadcast", "--release", "3.8.4"];
    let text = said(&directory("release"), &[&asked[..], &nothing[..]].concat(), 0);
    let row = text.lines().find(|line| line.trim_start().starts_with("servers' defects"));
    assert!(
        row.is_some_and(|row| row.contains(" in ") && row.contains("of 48 defects, 47")),
        "{text}"
    );
}

#[test]
fn a_defect_that_the_search_cannot_come_upon_is_refused() {
    let asked = |arguments: &[&str]| refused(&[&["explore"], arguments].concat());
    let unseen = |bug: Bug, scenario: &str, why: &str| {
        format!("`{}` cannot be found by a search of `{scenario}`: {why}", bug.name())
    };
    let no_servers = "the service grain has no servers; sweep it with that defect";
    for bug in Bug::ALL {
        let sentence = asked(&["lock", "--bug", bug.name()]);
        if Bug::AMONG_SERVERS.contains(&bug) || Bug::PLANTED_GUARDS.contains(&bug) {
            let why = format!("{no_servers}, or explore `broadcast`");
            assert_eq!(sentence, unseen(bug, "lock", &why));
            let nothing = ["broadcast", "--servers", "1", "--txns", "0", "--crashes", "0"];
            let sentence = asked(&[&nothing[..], &["--bug", bug.name()]].concat());
            assert!(sentence.starts_with(&unseen(bug, "broadcast", "")), "{sentence}");
        } else {
            let why = match bug {
                Bug::JoinerKeepsVote => {
                    "the service grain has no servers; explore `broadcast --servers 2 --reconfigs 1 --crashes 1` with \
                     that defect"
                }
                Bug::UnloggedObserverVotes => {
                    "the service grain has no servers; sweep `unlogged-observers` with that defect"
                }
                Bug::OldQuorumStillNeeded | Bug::PlantedNoWeightLeads => {
                    "the service grain has no servers; sweep `groups` with that defect"
                }
                bug if Bug::OF_OBSERVERS.contains(&bug) => {
                    "the service grain has no servers; sweep `observers` with that defect"
                }
                bug if Bug::OF_OBSERVER_MASTERS.contains(&bug) => {
                    "the service grain has no servers; sweep `observer-masters` with that defect"
                }
                bug if Bug::OF_RECONFIGURATION.contains(&bug) => {
                    "the service grain has no servers; sweep `reconfig` with that defect"
                }
                Bug::CounterWraps => {
                    "the service grain has no servers; sweep `rollover` with that defect"
                }
                _ => no_servers,
            };
            assert_eq!(sentence, unseen(bug, "lock", why));
            let sentence = asked(&["broadcast", "--bug", bug.name()]);
            let why = match bug {
                Bug::PlantedLeaderNotCounted => "every server comes back in it; sweep `",
                Bug::UnloggedObserverVotes => "every observer logs in it; sweep `",
                Bug::OldQuorumStillNeeded | Bug::PlantedNoWeightLeads => {
                    "it takes a change of several servers at once; sweep `"
                }
                bug if Bug::OF_OBSERVERS.contains(&bug) => {
                    "it takes observers; add `--observers 1`, or sweep `"
                }
                bug if Bug::OF_OBSERVER_MASTERS.contains(&bug) => {
                    "no search has observer masters; sweep `"
                }
                Bug::JoinerKeepsVote => {
                    let why = "it takes a reconfiguration and a crash; add `--servers 2 --reconfigs 1 --crashes 1`";
                    assert!(sentence.ends_with(why), "{sentence}");
                    continue;
                }
                bug if Bug::OF_RECONFIGURATION.contains(&bug) => {
                    "it takes reconfigurations; add `--reconfigs 1`, or sweep `"
                }
                Bug::CounterWraps => "no search exhausts the zxid counter; sweep `",
                bug if Bug::REPAIRED_EARLY.contains(&bug) => {
                    "no search that ends is known to show it; sweep `"
                }
                _ => "it takes clients, and here are servers alone; sweep `",
            };
            assert!(sentence.contains(why) && sentence.ends_with("` with it"), "{sentence}");
        }
    }
    for bug in ["ObserversAnswer", "ObserversCounted", "ObserversToldOldVotes"] {
        let sentence = asked(&["broadcast", "--observers", "1", "--bug", bug]);
        let why = "no search that ends is known to show it; sweep `observers` with it";
        assert!(sentence.ends_with(why), "{sentence}");
    }
    for bug in ["UncommittedConfigActivated", "PlantedConfigurationLeft"] {
        let sentence = asked(&["broadcast", "--reconfigs", "1", "--bug", bug]);
        let why = "no search that ends is known to show it; sweep `reconfig` with it";
        assert!(sentence.ends_with(why), "{sentence}");
    }
    let any = ["explore", "broadcast", "--election", "any", "--reconfigs", "1"];
    assert!(refused(&any).contains("not with `--election any`"), "{}", refused(&any));
    let older =
        ["explore", "broadcast", "--servers", "2", "--reconfigs", "1", "--release", "3.4.14"];
    let sentence = "servers of 3.4.14 have no dynamic reconfiguration: 3.5.0 is the first that has";
    assert!(refused(&older).contains(sentence), "{}", refused(&older));
    let many = ["explore", "broadcast", "--servers", "4", "--observers", "2"];
    let sentence = "`servers(4), observers(2) and reconfigs(0)` is too many: give at most 5";
    assert!(refused(&many).contains(sentence), "{}", refused(&many));
    let too_little = |arguments: &[&str], bug: &str, flags: &str| {
        let sentence = asked(&[arguments, &["--bug", bug]].concat());
        let why = format!("no search this small is known to show it; add `{flags}`");
        assert!(sentence.ends_with(&why), "{sentence}");
    };
    too_little(&["broadcast", "--txns", "0"], "TruncCutsCommitted", "--txns 1");
    too_little(
        &["broadcast", "--observers", "1", "--txns", "0"],
        "PlantedInformedEarly",
        "--txns 1",
    );
    too_little(
        &["broadcast", "--reconfigs", "1", "--crashes", "0"],
        "PlantedNewLeaderOfOldQuorum",
        "--crashes 1",
    );
    too_little(&["broadcast", "--servers", "1"], "TruncCutsCommitted", "--servers 2");
    too_little(&["broadcast"], "LeaderIgnoresNewerEpoch", "--crashes 2");
    too_little(
        &["broadcast", "--timeouts", "1", "--crashes", "0"],
        "LeaderIgnoresNewerEpoch",
        "--timeouts 2",
    );
    too_little(&["broadcast"], "PlantedHastyEpoch", "--election any");
    too_little(
        &["broadcast", "--election", "any", "--upsets", "0"],
        "PlantedHastyEpoch",
        "--upsets 1",
    );
    let sentence = asked(&["broadcast", "--bug", "GapsAreReplayed"]);
    assert!(sentence.ends_with("leaves one; sweep `churn` with both"), "{sentence}");
    let sentence = asked(&["broadcast", "--upsets", "1"]);
    assert!(sentence.ends_with("elects others than the largest of a quorum; add it"), "{sentence}");
    let sentence = asked(&["broadcast", "--bug", "SnapshotAheadOfLog"]);
    assert!(sentence.contains("add `--snap-count 2`"), "{sentence}");
    // With this snapCount no snapshot ever begins: "held" would be worthless.
    let many = ["broadcast", "--txns", "3", "--snap-count", "100", "--bug", "SnapshotAheadOfLog"];
    let sentence = asked(&many);
    assert!(sentence.contains("add `--snap-count 2`"), "{sentence}");
    for bug in ["FsyncErrorKeepsMemory", "TornRecordHidesLog", "FailedWriteComesLater"] {
        let flags = if bug == "FailedWriteComesLater" {
            "--txns 2 --fsync-errors 1"
        } else {
            "--fsync-errors 1"
        };
        too_little(&["broadcast"], bug, flags);
    }
    let coarse = ["broadcast", "--bug", "TruncCutsCommitted", "--coarse", "commit-apply"];
    assert_eq!(
        asked(&coarse),
        "`TruncCutsCommitted` cannot be found by a search of `broadcast`: to commit and to apply must be two \
         steps; leave out `--coarse commit-apply`"
    );
}

#[test]
fn servers_without_programs_are_not_swept() {
    let sentence = "`broadcast` has no programs, so there is nothing to sweep: write `vivarium \
                    explore broadcast`";
    assert_eq!(refused(&["run", "broadcast", "--seeds", "1"]), sentence);
    assert_eq!(refused(&["replay", "broadcast", "--seed", "1"]), sentence);
    assert_eq!(refused(&["replay", "broadcast"]), sentence);
}

/// Returns the figures of a report that do not depend on time.
fn distinct(report: &str) -> &str {
    let line = report.lines().find(|line| line.trim_start().starts_with("distinct states"));
    line.unwrap_or_else(|| panic!("no figure in\n{report}")).trim_end()
}

const TWO_SERVERS: [&str; 8] =
    ["explore", "broadcast", "--servers", "2", "--txns", "1", "--crashes", "1"];

#[test]
fn two_servers_hold_in_all_their_states_in_either_order() {
    let directory = directory("servers");
    let text = said(&directory, &TWO_SERVERS, 0);
    assert!(text.contains("broadcast: held in all "), "{text}");
    assert!(text.contains(" servers                in    2: every order"), "{text}");
    assert!(text.contains(" timeouts               out   --timeouts brings it in"), "{text}");
    let depth_first = said(&directory, &[&TWO_SERVERS[..], &["--depth-first"]].concat(), 0);
    assert!(depth_first.contains(" depth first, with reductions"), "{depth_first}");
    assert_eq!(distinct(&text), distinct(&depth_first));
}

#[test]
fn a_search_of_programs_goes_depth_first_too() {
    let directory = directory("depth-first");
    let [breadth, depth] = [&["explore", "lock"][..], &["explore", "lock", "--depth-first"]]
        .map(|words| said(&directory, words, 0));
    assert_eq!(distinct(&breadth), distinct(&depth));
}

/// Rounds of elections have no end, and a search does not claim to have visited them all.
#[test]
fn elections_are_bounded_by_their_rounds() {
    let words = ["explore", "broadcast", "--servers", "2", "--crashes", "0", "--election", "fast"];
    let text = said(&directory("elections"), &words, 2);
    let stopped = "broadcast: inconclusive: stopped by elections beyond their third round after ";
    assert!(text.contains(stopped), "{text}");
}

/// Checks that a search and the replay of its case show the same steps.
fn assert_replays(directory: &Path, words: &[&str], property: &str) -> String {
    let text = said(directory, words, 1);
    assert!(field(&text, "property").starts_with(property), "{text}");
    let (file, hash) = (field(&text, "case file"), field(&text, "hash"));
    let again = said(directory, &["replay", file, "--timeline"], 1);
    assert_eq!((field(&again, "hash"), field(&again, "saw")), (hash, field(&text, "saw")));
    assert!(again.contains(&format!("gave the recorded run: hash {hash}\n")), "{again}");
    assert!(again.ends_with("The recorded violation occurred again.\n"), "{again}");
    assert_eq!(told(&text), told(&again), "every step is told, by both");
    text
}

/// Returns the steps as printed in a report.
fn told(report: &str) -> Vec<&str> {
    let from = report.find("Step by step:\n").expect("they are told");
    report[from..].lines().skip(1).take_while(|line| !line.is_empty()).collect()
}

#[test]
fn a_defect_of_servers_is_told_step_by_step_and_its_case_replays() {
    let directory = directory("defect");
    let words = [&TWO_SERVERS[..], &["--bug", "TruncKeepsRecordBeyond"]].concat();
    let text = assert_replays(&directory, &words, "S5");
    assert_eq!(field(&text, "case file"), "cases/broadcast-TruncKeepsRecordBeyond-explored.json");
    // The report shows a way of the same length, whatever the strategy.
    let depth_first = [&words[..], &["--depth-first", "--threads", "1"]].concat();
    let other = assert_replays(&directory, &depth_first, "S5");
    assert_eq!(field(&other, "way"), field(&text, "way"));
    // A replay also violates a property that only states show (S3).
    let words = [&TWO_SERVERS[..], &["--bug", "AcksOutliveReconnect"]].concat();
    assert_replays(&directory, &words, "S3");
}

/// No step violates a property here: the violation is that nothing more can happen.
#[test]
fn a_server_that_is_shut_out_is_missing_in_the_replay_too() {
    let directory = directory("shut-out");
    let words = ["explore", "broadcast", "--txns", "0", "--crashes", "2", "--depth-first"];
    let words = [&words[..], &["--threads", "1", "--bug", "LeaderIgnoresNewerEpoch"]].concat();
    let text = assert_replays(&directory, &words, "L2");
    // One step earlier something can still happen, so no server is missing.
    let file = fs::read_to_string(directory.join(field(&text, "case file"))).expect("just written");
    let mut case: serde_json::Value = serde_json::from_str(&file).expect("JSON");
    case["steps"].as_array_mut().expect("steps").pop().expect("there is a last one");
    fs::write(directory.join("shorter.json"), case.to_string()).expect("it is writable");
    let held = said(&directory, &["replay", "shorter.json"], 2);
    assert!(held.contains("The recorded violation did not occur: L2"), "{held}");
}
