//! The output of a user's failing test, and its options: each test is a process of its own, as with cargo.

use std::fs;
use std::process::Command;
use vivarium::prelude::*;

/// Each worker does the first task that it sees, which both may see.
fn workers() -> Test {
    Test::new("workers", |zookeeper: ZooKeeper| async move {
        zookeeper.connect().await;
        let told = |error: Error| error.to_string();
        let tasks = zookeeper.get_children("/tasks").await.map_err(told)?;
        let Some(task) = tasks.first() else { return Ok(()) };
        let path = format!("/tasks/{task}");
        zookeeper.set_data(&path, b"mine", Version::Any).await.map_err(told)?;
        zookeeper.sleep(Duration::from_millis(200)).await;
        match zookeeper.delete(&path, Version::Any).await {
            Err(Error::NoNode) => Err("somebody else has done my task".to_string()),
            done => done.map_err(told),
        }
    })
    .clients(2)
    .setup("/tasks")
    .setup("/tasks/a")
    .setup("/tasks/b")
}

/// Run by the tests below.
#[test]
#[ignore = "it is meant to fail: what it prints is looked at by other tests"]
fn a_sweep() {
    workers().seeds(50).run();
}

/// As the one above.
#[cfg(feature = "explore")]
#[test]
#[ignore = "it is meant to fail: what it prints is looked at by other tests"]
fn a_search() {
    workers().explore(&Exploration::new().timers(1));
}

/// Client 1 waits for a znode that no client ever creates, while client 2 continues for some time. Run like the ones
/// above.
#[test]
#[ignore = "it is meant to fail: what it prints is looked at by other tests"]
fn a_hang() {
    let waits = |zookeeper: ZooKeeper| async move {
        zookeeper.connect().await;
        let (_, mut watch) =
            zookeeper.exists_watch("/go").await.map_err(|error| error.to_string())?;
        watch.changed().await.map(drop).map_err(|error| error.to_string())
    };
    let works = |zookeeper: ZooKeeper| async move {
        zookeeper.connect().await;
        for _ in 0..20 {
            zookeeper.exists("/go").await.map_err(|error| error.to_string())?;
            zookeeper.sleep(Duration::from_secs(1)).await;
        }
        Ok(())
    };
    Test::of_roles("hang", [Role::new("waits", waits), Role::new("works", works)]).seeds(1).run();
}

/// Returns the output of a test with these environment variables.
fn printed(test: &str, variables: &[(&str, &str)]) -> String {
    let program = std::env::current_exe().expect("a test has a program");
    let mut command = Command::new(program);
    command.args(["--exact", test, "--ignored", "--nocapture"]).env("RUST_BACKTRACE", "0");
    for name in ["SEEDS", "SEED", "CASE", "TIMELINE", "SERVE"] {
        command.env_remove(format!("VIVARIUM_{name}"));
    }
    command.env("VIVARIUM_MINIMISE", "0").env("VIVARIUM_REGRESSIONS", "off");
    let run = command.envs(variables.iter().copied()).output().expect("it runs");
    assert!(!run.status.success());
    String::from_utf8_lossy(&run.stderr).into_owned()
}

/// Returns the text after this mark on its line.
fn behind<'t>(text: &'t str, mark: &str) -> &'t str {
    let at = text.find(mark).unwrap_or_else(|| panic!("no {mark:?} in {text}")) + mark.len();
    text[at..].lines().next().unwrap_or_default().trim()
}

/// Returns the report without parts that differ between machines.
fn portable(text: &str) -> String {
    let from = text.find("VIOLATED").expect("it is violated");
    let to = text[from..].find("note: run with").map_or(text.len(), |at| from + at);
    let file = behind(text, "\n  case file  ");
    let explored = file.replace(".json", "-explored.json");
    text[from..to].replace(file, "<case file>").replace(&explored, "<case file>")
}

#[test]
fn a_failing_sweep_tells_the_whole_way() {
    let text = printed("a_sweep", &[]);
    insta::assert_snapshot!(portable(&text));
}

#[test]
fn a_report_is_as_wide_as_is_said() {
    let text = printed("a_hang", &[("COLUMNS", "80")]);
    let report = &text[text.find("VIOLATED").expect("it is violated")..];
    let wide: Vec<&str> = report.lines().filter(|line| line.chars().count() > 80).collect();
    let paths = wide.iter().filter(|line| line.contains("/hang-0")).count();
    assert_eq!(paths, wide.len(), "{wide:?}");
    insta::assert_snapshot!(portable(report).lines().take(60).collect::<Vec<_>>().join("\n"));
}

/// The smaller run has a case of its own.
#[test]
fn the_smaller_run_is_seen_again() {
    let text = printed("a_sweep", &[("VIVARIUM_MINIMISE", "10")]);
    let smaller = &text[text.find("\nMinimised in ").expect("it is minimised")..];
    let saw = behind(smaller, "\n  saw        ");
    let replay = behind(smaller, "\n  replay     VIVARIUM_CASE=");
    let (file, _command) = replay.split_once(' ').expect("a command follows");
    let again = printed("a_sweep", &[("VIVARIUM_CASE", file)]);
    assert_eq!(behind(&again, "\n  saw        "), saw);
    assert!(again.contains("gave the recorded run"), "{again}");
}

/// A failing test keeps its smallest case in a folder, and replays it first from then on. A case that is of no use any
/// more says so.
#[test]
fn a_failure_is_kept_as_a_regression_and_replayed_first() {
    let folder = std::env::temp_dir().join(format!("vivarium-regressions-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    let in_folder = folder.to_string_lossy().into_owned();
    let variables = [("VIVARIUM_MINIMISE", "5"), ("VIVARIUM_REGRESSIONS", in_folder.as_str())];
    let first = printed("a_sweep", &variables);
    let kept = behind(&first, "\n  regression ");
    let (file, _) = kept.split_once(" (replayed first from now on").expect("it says what for");
    assert!(file.starts_with(&in_folder) && fs::exists(file).expect("it is readable"), "{kept}");
    let second = printed("a_sweep", &variables);
    let told = format!("workers: the regression {file} violates a property");
    assert!(second.contains(&told), "{second}");

    // With a step list that no world can take, it is stale, and the seeds run.
    let text = fs::read_to_string(file).expect("it was written");
    let mut case: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let steps = case["steps"].as_array_mut().expect("a list");
    let last = steps.last().expect("there are steps").clone();
    *steps = vec![last; 5];
    fs::write(file, case.to_string()).expect("it is writable");
    let third = printed("a_sweep", &variables);
    assert!(third.contains(&format!("regression {file}: stale: 5 of its 5 steps")), "{third}");
    assert!(third.contains("VIOLATED: workers"), "{third}");
    fs::remove_dir_all(&folder).expect("it is there");
}

/// The report does not show what continued long after the hang.
#[test]
fn a_hang_is_told_where_it_began() {
    let text = printed("a_hang", &[]);
    let last = text.split("To see every step:").next().expect("there is a first part");
    insta::assert_snapshot!(portable(last));
}

/// The commands for the seed, the case and the timeline lead to the same run.
#[test]
fn a_failing_sweep_is_seen_again() {
    let text = printed("a_sweep", &[]);
    let (hash, seed) = (behind(&text, "\n  hash       "), behind(&text, "\n  seed       "));
    let by_seed = printed("a_sweep", &[("VIVARIUM_SEED", seed)]);
    assert_eq!(behind(&by_seed, "\n  hash       "), hash);
    let file = behind(&text, "\n  case file  ");
    let by_case = printed("a_sweep", &[("VIVARIUM_CASE", file)]);
    assert!(by_case.contains("workers: the case violates a property"), "{by_case}");
    assert!(by_case.contains(&format!("gave the recorded run: hash {hash}")), "{by_case}");
    let variables = [("VIVARIUM_SEED", seed), ("VIVARIUM_TIMELINE", "all")];
    let whole = printed("a_sweep", &variables);
    assert!(whole.contains("#1  ") && !whole.contains("left out here"), "{whole}");
    let other = printed("a_sweep", &[("VIVARIUM_TIMELINE", "much")]);
    assert!(other.contains("workers: VIVARIUM_TIMELINE: `much` is not a number"), "{other}");
}

#[cfg(feature = "explore")]
#[test]
fn a_failing_search_is_seen_again() {
    let text = printed("a_search", &[]);
    let (hash, file) = (behind(&text, "\n  hash       "), behind(&text, "\n  case file  "));
    let replay = behind(&text, "\n  replay     ");
    assert_eq!(replay, format!("VIVARIUM_CASE={file} cargo test a_search"));
    let again = printed("a_search", &[("VIVARIUM_CASE", file)]);
    assert!(again.contains(&format!("gave the recorded run: hash {hash}")), "{again}");
    let elsewhere = printed("a_search", &[("VIVARIUM_SERVE", "nowhere")]);
    assert!(elsewhere.contains("no browser can be served at `nowhere`"), "{elsewhere}");
}

#[test]
fn a_case_of_another_test_is_refused() {
    let directory = std::env::temp_dir().join("vivarium-told-other.json");
    let text = printed("a_sweep", &[]);
    let case = std::fs::read_to_string(behind(&text, "\n  case file  ")).expect("it was written");
    std::fs::write(&directory, case.replace("\"workers\"", "\"others\"")).expect("it can be");
    let path = directory.to_string_lossy();
    let text = printed("a_sweep", &[("VIVARIUM_CASE", &path)]);
    assert!(text.contains("is of the test `others`, and this one is `workers`"), "{text}");
    let text = printed("a_sweep", &[("VIVARIUM_CASE", "no/such/file.json")]);
    assert!(text.contains("workers: VIVARIUM_CASE: "), "{text}");
}
