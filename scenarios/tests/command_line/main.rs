//! The command line as users see it: its messages about bad input, and its exit codes.
#![cfg(feature = "cli")]

mod museum;
mod violations;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The output of a command, and its exit code.
struct Outcome {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

/// Creates an empty directory for a test.
fn directory(test: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("command-line").join(test);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).expect("cargo's directory is writable");
    path
}

fn command(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vivarium"));
    command.args(arguments).current_dir(directory).env_remove("CARGO");
    command
}

fn vivarium_in(directory: &Path, arguments: &[&str]) -> Outcome {
    let output = command(directory, arguments).output().expect("the binary was built");
    Outcome {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).expect("reports are text"),
        stderr: String::from_utf8(output.stderr).expect("messages are text"),
    }
}

fn vivarium(arguments: &[&str]) -> Outcome {
    vivarium_in(Path::new(env!("CARGO_TARGET_TMPDIR")), arguments)
}

/// Runs a command that must be refused in one sentence with exit code 3; returns the sentence.
fn refused_in(directory: &Path, arguments: &[&str]) -> String {
    let outcome = vivarium_in(directory, arguments);
    let Outcome { code, stdout, stderr } = outcome;
    assert_eq!(code, Some(3), "{arguments:?}: {stdout}{stderr}");
    assert_eq!(stdout, "", "{arguments:?}");
    assert_eq!(stderr.lines().count(), 1, "{arguments:?}: {stderr}");
    let sentence = stderr.trim_end().strip_prefix("error: ");
    sentence.unwrap_or_else(|| panic!("{arguments:?}: {stderr}")).to_string()
}

fn refused(arguments: &[&str]) -> String {
    refused_in(Path::new(env!("CARGO_TARGET_TMPDIR")), arguments)
}

#[test]
fn unknown_names_get_the_nearest_known_one() {
    assert_eq!(refused(&["run", "lokc"]), "unknown scenario `lokc`: did you mean `lock`?");
    let sentence = refused(&["run", "lock", "--bug", "NoGid"]);
    assert_eq!(sentence, "unknown bug `NoGid` of scenario `lock`: did you mean `NoGuid`?");
    let sentence = refused(&["run", "lock", "--host", "madsmi"]);
    assert_eq!(sentence, "unknown host `madsmi`: did you mean `madsim`?");
    assert_eq!(refused(&["rnu"]), "unknown command `rnu`: did you mean `run`?");
    assert_eq!(
        refused(&["run", "--sedes", "3"]),
        "unknown flag `--sedes`: did you mean `--seeds`?"
    );
    assert_eq!(
        refused(&["replay", "lokc", "--seed", "3"]),
        "unknown scenario `lokc`: did you mean `lock`?"
    );
    let sentence = refused(&["lock"]);
    assert_eq!(sentence, "`lock` is a scenario: did you mean `vivarium run lock`?");
    let sentence = refused(&["--seeds", "3"]);
    assert_eq!(sentence, "`--seeds` belongs to the command `run`: write `vivarium run --seeds …`");
}

#[test]
fn findings_have_names_and_need_a_zookeeper() {
    assert_eq!(
        refused(&["findings", "sync-at-leadr"]),
        "unknown finding `sync-at-leadr`: did you mean `sync-at-leader`?"
    );
    assert_eq!(
        refused(&["findings", "--class-path", "lib/*"]),
        "`--class-path` is for one of them: write `vivarium findings NAME --class-path PATHS`"
    );
    assert_eq!(
        refused(&["findings", "--zookeeper", "3.9.5"]),
        "`--zookeeper` is for one of them: write `vivarium findings NAME --zookeeper RELEASE`"
    );
    let unknown = "unknown ZooKeeper release `3.9`: there are 3.4.14, 3.6.3, 3.8.0, 3.9.5";
    assert_eq!(refused(&["findings", "sync-at-leader", "--zookeeper", "3.9"]), unknown);
    assert_eq!(refused(&["findings", "--get", "3.9"]), unknown);
    assert_eq!(
        refused(&["findings", "--get", "3.8.0"]),
        "ZooKeeper 3.8.0 is Debian's: `apt-get install zookeeper` installs it"
    );
    let mut command = command(&directory("findings"), &["findings", "sync-at-leader"]);
    let output = command.env("PATH", "").env_remove("JAVA_HOME").output().expect("it was built");
    assert_eq!(output.status.code(), Some(3));
    let sentence = String::from_utf8(output.stderr).expect("messages are text");
    assert!(sentence.contains("`apt-get install zookeeper`"), "{sentence}");
}

#[test]
fn real_servers_have_no_defect_that_is_switched_on() {
    for bug in ["ProposalsAckedFirst", "PlantedLatePings"] {
        assert_eq!(
            refused(&["live", "lock", "--bug", bug]),
            format!(
                "`{bug}` is a defect of the model, and real servers have only their own: leave it out, or write \
                 `vivarium run lock --bug {bug}`"
            )
        );
    }
    for flag in ["--release", "--bug"] {
        assert_eq!(
            refused(&["live", "lock", flag, "3.9.5"]),
            "`--release 3.9.5` gives its defects to modelled servers, and real ones have those of their own release: \
             choose that by `--zookeeper RELEASE`"
        );
    }
    assert_eq!(
        refused(&["live", "reconfig"]),
        "`reconfig` changes the members of an ensemble, which the real servers of `vivarium live` do not allow: sweep it by \
         `vivarium run reconfig`"
    );
    // A mutant is a program: only the servers are missing here.
    let mut command = command(&directory("live"), &["live", "lock", "--bug", "NoGuid"]);
    let output = command.env("PATH", "").env_remove("JAVA_HOME").output().expect("it was built");
    let sentence = String::from_utf8(output.stderr).expect("messages are text");
    assert!(sentence.contains("`apt-get install zookeeper`"), "{sentence}");
}

#[test]
fn names_without_a_near_one_get_the_list() {
    let sentence = refused(&["run", "frobnicate"]);
    assert!(sentence.starts_with("unknown scenario `frobnicate`: the scenarios are lock"));
    let sentence = refused(&["run", "--bug", "frobnicate"]);
    assert!(sentence.starts_with("unknown bug `frobnicate`: there are "), "{sentence}");
    assert!(sentence.contains("NoGuid") && sentence.contains("RefuseNewerZxid"), "{sentence}");
    let sentence = refused(&["run", "--host", "docker"]);
    assert_eq!(sentence, "unknown host `docker`: the hosts are madsim, direct");
    let sentence = refused(&["frobnicate"]);
    assert_eq!(
        sentence,
        "unknown command `frobnicate`: the commands are run, merge, replay, walk, explain, coverage, explore, \
         conform, live, serve, fuzz-explorer, recipes, mutants, published, findings, museum, watch, list"
    );
    let sentence = refused(&["live"]);
    assert_eq!(sentence, "`live` needs a scenario, such as `vivarium live lock`");
    let sentence = refused(&["live", "lock", "--connect", "127.0.0.1:1"]);
    assert_eq!(
        sentence,
        "`--connect 127.0.0.1:1` names no znode to work below, as `zk1:2181/vivarium` does"
    );
    let sentence = refused(&["live", "lock", "--connect", "nowhere/a"]);
    assert_eq!(sentence, "`nowhere` is not the address of a server, such as `zk1:2181`");
    let sentence = refused(&["serve", "--servers", "many"]);
    assert_eq!(sentence, "--servers needs a number, not `many`");
    let sentence = refused(&["serve", "--servers", "10"]);
    assert_eq!(sentence, "an ensemble has from 1 to 9 servers, not 10");
    let sentence = refused(&["serve", "--release", "4.0"]);
    assert_eq!(
        sentence,
        "unknown release `4.0`: the releases are 3.4.14, 3.5.10, 3.6.3, 3.6.4, 3.7.2, 3.8.0, 3.8.4, 3.8.6, 3.9.2, \
         3.9.3, 3.9.5, head, repaired"
    );
    let sentence = refused(&["serve", "--port", "0", "--record", "/no/such/folder/a.json"]);
    assert!(sentence.starts_with("the record cannot be written into /no/such/folder/a.json: "));
    let sentence = refused(&["run", "--frobnicate"]);
    assert_eq!(sentence, "unknown flag `--frobnicate`: `vivarium run --help` lists the flags");
}

#[test]
fn a_table_is_of_its_own_scenarios_only() {
    assert_eq!(
        refused(&["mutants", "churn"]),
        "`churn` belongs to ZooKeeper itself: this table is of recipes as they should be"
    );
    let sentence = refused(&["recipes", "broadcast"]);
    assert!(sentence.starts_with("`broadcast` belongs to ZooKeeper itself"), "{sentence}");
    assert_eq!(
        refused(&["published", "lock"]),
        "`lock` belongs to recipes as they should be: this table is of recipes as published"
    );
    assert_eq!(
        refused(&["recipes", "--max-states", "none"]),
        "`--max-states none` is not a number of states"
    );
    let sentence = refused(&["mutants", "lock", "--seeds", "0"]);
    assert_eq!(sentence, "`0` seeds are none at all: run at least 1");
    assert_eq!(
        refused(&["recipes", "--release", "heat"]),
        "unknown release `heat`: did you mean `head`?"
    );
    assert_eq!(
        refused(&["recipes", "--release", "head", "--write", "there"]),
        "`--release` asks for sweeps alone: leave out `--write`"
    );
    assert_eq!(
        refused(&["recipes", "--release", "head", "--max-states", "7"]),
        "`--release` asks for sweeps alone: leave out `--max-states`"
    );
    assert_eq!(
        refused(&["recipes", "--write", "nowhere"]),
        "`nowhere` is no directory: make it first"
    );
    assert_eq!(
        refused(&["published", "--max-time", "-1"]),
        "`--max-time -1` is not a number of seconds"
    );
}

#[test]
fn a_table_of_a_recipe_is_written_for_its_documentation() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let asked = ["recipes", "counter", "counter", "--seeds", "200", "--max-states", "1_000"];
    let outcome = vivarium_in(directory, &[&asked[..], &["--write", "."]].concat());
    // Most of its searches do not end within this number of states.
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
    assert_eq!(outcome.stdout.matches("counter: clients count").count(), 1, "{}", outcome.stdout);
    let page = fs::read_to_string(directory.join("counter.md")).expect("it was written");
    for row in [
        "| 200 seeds | held, with every fault |",
        "| 2 clients | held in all 73 states |",
        "| 2 clients, 1 expiry | held until it was stopped by 1,000 states |",
        "One change may wake 0 other clients; 0 were woken at most.",
    ] {
        assert!(page.contains(row), "{row}: {page}");
    }
}

#[test]
fn harm_by_a_release_is_told_with_the_defects_that_it_takes() {
    let outcome = vivarium(&["recipes", "counter", "--release", "head", "--seeds", "300"]);
    assert_eq!(outcome.code, Some(1), "{}", outcome.stderr);
    assert!(outcome.stdout.contains("not without this defect"), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("RenameUnsynced ("), "{}", outcome.stdout);
    assert!(outcome.stdout.contains(" of 20)"), "{}", outcome.stdout);
    assert!(!outcome.stdout.contains("S7 contiguous log"), "{}", outcome.stdout);
    let repaired = ["recipes", "counter", "--release", "repaired", "--seeds", "300"];
    let outcome = vivarium(&[&repaired[..], &["--max-states", "10"]].concat());
    assert_eq!(outcome.code, Some(2), "{}", outcome.stdout);
}

#[test]
fn a_text_that_goes_wrong_and_a_mutant_are_told_with_the_seed_and_the_steps() {
    let quick = ["--seeds", "200", "--max-states", "20_000"];
    let asked = ["published", "published-queue-page"];
    let outcome = vivarium(&[&asked[..], &quick[..]].concat());
    assert_eq!(outcome.code, Some(0), "{}{}", outcome.stdout, outcome.stderr);
    assert!(outcome.stdout.contains(" steps, in "), "{}", outcome.stdout);
    let outcome = vivarium(&[&["mutants", "counter"], &quick[..]].concat());
    assert!(outcome.stdout.contains(" mutants are found"), "{}", outcome.stdout);
    let outcome = vivarium(&["mutants", "persistent-node", "--seeds", "5", "--max-states", "9"]);
    assert_eq!(outcome.code, Some(1), "{}", outcome.stdout);
    assert!(
        outcome.stdout.contains("not found: persistent-node with PersistentAdopts"),
        "{}",
        outcome.stdout
    );
}

#[test]
fn malformed_seeds() {
    let cases = [
        ("", "the seed range is empty: write a number, such as `42` or `0x2a`"),
        ("0", "`0` seeds are none at all: run at least 1"),
        ("many", "`many` is not a seed: write a number, such as `42` or `0x2a`"),
        ("-3", "`-3` is not a seed: write a number, such as `42` or `0x2a`"),
        ("9..3", "the seed range `9..3` is reversed: did you mean `3..9`?"),
        ("1..=9", "`1..=9` is not a seed range: write a count, such as `1000`, or `A..B`"),
        ("4..", "`4..` is not a seed range: write a count, such as `1000`, or `A..B`"),
    ];
    for (seeds, sentence) in cases {
        assert_eq!(refused(&["run", "--seeds", seeds]), sentence);
    }
    let sentence = refused(&["run", "--seeds", "5..5"]);
    assert!(sentence.starts_with("the seed range `5..5` is empty, "), "{sentence}");
    let sentence = refused(&["run", "--seeds", "99999999999999999999"]);
    assert!(sentence.contains("is too large for a seed"), "{sentence}");
    assert_eq!(refused(&["run", "--seeds"]), "`--seeds` needs a value: `--seeds <N | A..B>`");
    let sentence = refused(&["replay", "lock", "--seed", "x"]);
    assert_eq!(sentence, "`x` is not a seed: write a number, such as `42` or `0x2a`");
}

#[test]
fn other_arguments_that_make_no_sense() {
    let sentence = refused(&["run", "--jobs", "0"]);
    assert_eq!(sentence, "`--jobs 0` would run nothing: give at least 1");
    let sentence = refused(&["run", "--jobs", "two"]);
    assert_eq!(sentence, "`--jobs two` is not a number of threads: write e.g. `--jobs 2`");
    let sentence = refused(&["run", "--json", "--json"]);
    assert_eq!(sentence, "`--json` is given twice: leave out one of them");
    let sentence = refused(&["replay"]);
    assert_eq!(sentence, "`replay` needs a scenario with `--seed N`, or a case file");
    let sentence = refused(&["replay", "lock"]);
    assert_eq!(sentence, "which run of `lock`? Give its seed: `replay lock --seed N`");
    let sentence = refused(&["replay", "lock", "--seed", "1", "--timeline=some"]);
    assert!(sentence.starts_with("`--timeline=some` is not a number of steps"), "{sentence}");
    assert!(refused(&["replay", "a", "b"]).starts_with("unexpected argument `b`"));
    let sentence = refused(&["run", "lock", "--check-determinism", "--html", "a.html"]);
    assert_eq!(
        sentence,
        "`--html` and `--check-determinism` do not go together: leave out one of them"
    );
}

#[test]
fn a_run_is_written_as_a_page_a_trace_and_a_log() {
    let directory = directory("pictures");
    let run = ["replay", "lock", "--seed", "1"];
    let files = ["--html", "a.html", "--perfetto", "a.json", "--shiviz", "a.log"];
    let written = vivarium_in(&directory, &[&run[..], &files].concat());
    assert_eq!(written.code, Some(0), "{}", written.stderr);
    for (file, begins) in [("a.html", "<!"), ("a.json", "{"), ("a.log", "(?<host>")] {
        let text = fs::read_to_string(directory.join(file)).expect("it was written");
        assert!(text.to_lowercase().starts_with(begins), "{file}");
    }
    let unwritable = vivarium_in(&directory, &[&run[..], &["--html", "none/a.html"]].concat());
    assert_eq!(unwritable.code, Some(3));
    let begins = "error: the page of the run cannot be written to `none/a.html`: ";
    assert!(unwritable.stderr.starts_with(begins), "{}", unwritable.stderr);
    let read = |file: &str| fs::read_to_string(directory.join(file)).expect("it was written");
    let held = vivarium_in(&directory, &["run", "lock", "--seeds", "1", "--html", "held.html"]);
    assert_eq!(held.code, Some(0), "{}", held.stderr);
    assert!(read("held.html").contains("<details class=\"scenario unreached\""));
    let run =
        ["run", "lock", "counter", "--bug", "NoGuid", "--html", "run.html", "--minimise", "0"];
    let refused = vivarium_in(&directory, &run);
    assert_eq!(refused.code, Some(3), "counter has no such mutant: {}", refused.stderr);
    let run = ["run", "lock", "--bug", "NoGuid", "--html", "run.html", "--minimise", "0"];
    let violated = vivarium_in(&directory, &run);
    assert_eq!(violated.code, Some(1), "{}", violated.stderr);
    assert!(read("run.html").contains("href=\"run-lock-1.html\""), "{}", read("run.html"));
    assert!(read("run-lock-1.html").to_lowercase().starts_with("<!doctype html>"));
}

#[test]
fn files_that_are_no_case() {
    let directory = directory("no-case");
    let refused_file = |name: &str, content: &str| {
        fs::write(directory.join(name), content).expect("the directory is writable");
        refused_in(&directory, &["replay", name])
    };
    let sentence = refused_in(&directory, &["replay", "missing.json"]);
    assert!(sentence.starts_with("the case file `missing.json` cannot be read: "), "{sentence}");
    let sentence = refused_in(&directory, &["replay", "."]);
    assert!(sentence.starts_with("the case file `.` cannot be read: "), "{sentence}");
    assert_eq!(refused_file("empty.json", ""), "the case file `empty.json` is empty");
    assert!(refused_file("text.json", "hello").contains("it is not JSON"));
    assert!(refused_file("half.json", "{\"format\": \"viva").contains("is truncated"));
    assert!(refused_file("other.json", "{\"a\": 1}").contains("is JSON, but not a case file"));
    let newer = "{\"format\": \"vivarium-case\", \"version\": 99}";
    assert!(refused_file("newer.json", newer).contains("has version 99, but this build"));
    let unknown = "{\"format\": \"vivarium-case\", \"version\": 3, \
                   \"config\": {\"bugs\": [\"SnapKeepOldLog\"]}}";
    assert_eq!(
        refused_file("unknown.json", unknown),
        "the case file `unknown.json` names the bug `SnapKeepOldLog`, which this build of Vivarium does not \
         know: did you mean `SnapKeepsOldLog`?"
    );
    let bare = "{\"format\": \"vivarium-case\", \"version\": 1}";
    let sentence = refused_file("bare.json", bare);
    assert!(sentence.contains("is damaged: missing field `scenario`"), "{sentence}");
    let sentence = refused_in(&directory, &["replay", "bare.json", "--seed", "3"]);
    assert!(sentence.contains("names its seed itself: leave out `--seed`"), "{sentence}");
    let sentence = refused_in(&directory, &["replay", "bare.json", "--bug", "NoGuid"]);
    assert!(sentence.starts_with("a case file names its bugs itself"), "{sentence}");
    let sentence = refused_in(&directory, &["replay", "lokc"]);
    assert!(sentence.contains("did you mean the scenario, `replay lock --seed N`?"), "{sentence}");
}

#[test]
#[cfg(not(madsim))]
fn a_host_that_this_build_lacks_is_refused_with_the_reason() {
    let sentence = refused(&["run", "lock", "--seeds", "1", "--host", "madsim"]);
    assert!(sentence.starts_with("this build has no madsim host, because it was not compiled"));
    assert!(sentence.contains("RUSTFLAGS") && sentence.contains("--host direct"), "{sentence}");
}

#[test]
#[cfg(madsim)]
fn both_hosts_give_the_same_report() {
    let report = |host| {
        let outcome = vivarium(&["run", "lock", "--seeds", "5", "--json", "--host", host]);
        let document = serde_json::from_str::<serde_json::Value>(&outcome.stdout).expect("JSON");
        let scenario = &document["scenarios"][0];
        assert_eq!(scenario["host"], host);
        ["steps", "simulated_seconds", "faults", "marks", "says"].map(|key| scenario[key].clone())
    };
    assert_eq!(report("madsim"), report("direct"));
}

#[test]
fn help_and_version_are_no_errors() {
    for arguments in [["--help"], ["--version"], ["list"]] {
        let outcome = vivarium(&arguments);
        assert_eq!(outcome.code, Some(0), "{arguments:?}");
        assert!(!outcome.stdout.is_empty() && outcome.stderr.is_empty(), "{arguments:?}");
    }
    assert!(vivarium(&["--help"]).stdout.contains("0 held, 1 violated, 2 inconclusive, 3 error"));
    assert!(vivarium(&["list"]).stdout.contains("  lock "));
    assert!(vivarium(&["list", "lock"]).stdout.contains("--bug NoGuid"));
    assert!(vivarium(&["list", "defects"]).stdout.contains("--bug RefuseNewerZxid"));
}

#[test]
fn nobody_reading_the_report_is_no_panic() {
    let directory = directory("broken-pipe");
    let mut child = command(&directory, &["list"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary was built");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends by itself");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn a_sweep_that_holds() {
    let outcome = vivarium(&["run", "lock", "--seeds", "3", "--jobs", "2", "--host", "direct"]);
    assert_eq!(outcome.code, Some(0), "{}{}", outcome.stdout, outcome.stderr);
    assert!(outcome.stdout.contains(" lock "), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("host direct"), "{}", outcome.stdout);
}

#[test]
fn json_is_the_whole_of_standard_output() {
    let outcome = vivarium(&["run", "lock", "--seeds", "7..9", "--json"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let document: serde_json::Value = serde_json::from_str(&outcome.stdout).expect("JSON");
    assert_eq!(document["format"], "vivarium-report");
    assert_eq!(document["version"], 2);
    assert_eq!(document["scenarios"][0]["first_seed"], 7);
    assert_eq!(document["scenarios"][0]["seeds"], 2);
}

#[test]
fn the_determinism_check_compares_both_hosts() {
    let outcome = vivarium(&["run", "lock", "--seeds", "2", "--check-determinism"]);
    assert_eq!(outcome.code, Some(0), "{}{}", outcome.stdout, outcome.stderr);
    assert!(outcome.stdout.starts_with("lock: 2 seeds, each the same run "), "{}", outcome.stdout);
}

/// Counts what runs reach; what a seed's run violates is counted and changes no exit code.
#[test]
fn coverage_counts_awaits_marks_faults_and_events() {
    let Outcome { code, stdout, stderr } =
        vivarium(&["coverage", "lock", "--seeds", "30", "--bug", "NoGuid"]);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stdout.starts_with("Coverage of lock with NoGuid: 30 seeds, "), "{stdout}");
    assert!(stdout.contains(" seeds violated a property\n"), "{stdout}");
    for part in ["recipes/src/lock/worker.rs:", "\nMarks\n", "\nFaults\n", "\nEvents\n"] {
        assert!(stdout.contains(part), "{part}: {stdout}");
    }
    let published = "published-queue-page";
    let sentence = refused(&["run", published, "--bug", "ObserversAnswer"]);
    let none = format!(
        "`ObserversAnswer` needs observers, and `{published}` has none: run `vivarium run observers --bug ObserversAnswer`"
    );
    assert_eq!(sentence, none);
    assert_eq!(
        refused(&["conform", "--observers", "1"]),
        "`--observers` needs `--ensemble`: one server alone has none"
    );
    let json = vivarium(&["coverage", "counter", "queue", "--seeds", "3..9", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&json.stdout).expect("it is JSON");
    assert_eq!(document["scenarios"][1]["scenario"], "queue");
    assert_eq!(document["scenarios"][1]["seeds"], 6);
    assert_eq!(
        refused(&["coverage"]),
        "`coverage` needs a scenario, such as `vivarium coverage lock`"
    );
}
