//! This is the README's test, which fails as the README shows.
#![cfg(feature = "explore")]

use std::fs;
use std::panic::catch_unwind;
use std::path::Path;
use vivarium::prelude::*;

async fn hold_once(zk: ZooKeeper) -> Result<(), String> {
    let held = in_sessions(&zk, |zk, _session| async move {
        match zk.create("/lock", b"", CreateMode::Ephemeral).await {
            Ok(_) => zk.custom("acquired", &[]),
            // Another client holds the lock, or the outcome is unknown.
            Err(Error::NodeExists | Error::ConnectionLoss) => return Ok(()),
            Err(error) => return Err(error),
        }
        zk.sleep(Duration::from_millis(100)).await; // the work
        zk.custom("released", &[]);
        ensure_deleted(&zk, "/lock").await // repeated after ConnectionLoss
    });
    held.await.map_err(|error| error.to_string())
}

#[ignore = "it is meant to fail: the test below runs it"]
#[test]
fn one_client_at_a_time_holds_the_lock() {
    Test::new("lock", hold_once)
        .monitor(never_two_at_once("acquired", "released"))
        .explore(&Exploration::new().clients(3).lost(1));
}

/// Returns the text of the README's first block of this language.
fn block(language: &str) -> String {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let readme = fs::read_to_string(readme).expect("the README");
    let begins = format!("\n```{language}\n");
    let (_, block) = readme.split_once(&begins).unwrap_or_else(|| panic!("no {language} block"));
    block.split_once("\n```").expect("it has an end").0.to_string()
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_readme_has_this_program() {
    for part in block("rust").split("\n\n") {
        assert!(include_str!("readme.rs").contains(part), "not in this file:\n{part}");
    }
}

/// Ignores what the README leaves out by `…`.
#[test]
fn it_fails_as_the_readme_shows() {
    let failure = catch_unwind(one_client_at_a_time_holds_the_lock).expect_err("it is violated");
    let failure = failure.downcast::<String>().expect("it says why");
    let printed = words(&failure);
    let mut rest = printed.as_str();
    let shown = block("text");
    let parts: Vec<String> =
        shown.split(['…', '\n']).map(words).filter(|it| !it.is_empty()).collect();
    assert!(parts.len() > 10, "too little is shown:\n{shown}");
    for part in parts {
        let found = rest.split_once(&part);
        let at = found
            .unwrap_or_else(|| panic!("README.md shows {part:?}, but the test prints\n{failure}"));
        rest = at.1;
    }
}
