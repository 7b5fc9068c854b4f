//! The command, as a test in another language starts it.

use super::*;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use vivarium_client::CreateMode;

struct Served {
    child: Child,
    output: BufReader<ChildStdout>,
    hosts: String,
}

impl Served {
    fn start(record: &Path) -> Served {
        let mut child = Command::new(env!("CARGO_BIN_EXE_vivarium"))
            .args(["serve", "--port", "0", "--record"])
            .arg(record)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut lines = [String::new(), String::new()];
        for line in &mut lines {
            output.read_line(line).unwrap();
        }
        let hosts = lines[0].strip_prefix("serving ").expect(&lines[0]).trim().to_owned();
        assert!(lines[1].starts_with("commands: crash N, "), "{}", lines[1]);
        Served { child, output, hosts }
    }

    fn say(&mut self, line: &str) -> String {
        writeln!(self.child.stdin.as_mut().unwrap(), "{line}").unwrap();
        let mut answer = String::new();
        self.output.read_line(&mut answer).unwrap();
        answer.trim().to_owned()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Commands are lines; a process that is killed leaves a record that replays.
#[tokio::test]
async fn lines_are_answered_and_a_killed_process_leaves_its_record() {
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("run.json");
    let mut served = Served::start(&record);
    let client = soon(Client::builder(&served.hosts).connect()).await.unwrap();
    soon(client.create("/a", b"", CreateMode::Persistent)).await.unwrap();
    assert!(served.say("leader").starts_with("server "));
    assert_eq!(served.say("crash 7"), "error: there is no server 7");
    assert!(served.say("dance").starts_with("error: `dance` is no command; the commands are "));
    let session = client.session().expect("it is connected");
    assert_eq!(served.say(&format!("disconnect {session}")), "done");
    settled(|| client.exists("/a")).await.unwrap();
    tokio::time::sleep(Duration::from_millis(1_200)).await;
    let saved = folder.path().join("saved.json");
    assert_eq!(
        served.say(&format!("save {}", saved.display())),
        format!("vivarium replay {}", saved.display())
    );
    assert!(
        served
            .say(&format!("save {}", record.display()))
            .starts_with("error: the record cannot be written")
    );
    let in_no_folder = folder.path().join("none").join("x.json");
    assert!(
        served
            .say(&format!("save {}", in_no_folder.display()))
            .starts_with("error: the record cannot")
    );
    drop(served);
    let text = replayed(&saved);
    assert!(text.contains("gave the recorded run"), "{text}");
    let text = replayed(&record);
    assert!(text.contains("gave the recorded run"), "{text}");
}

/// Returns what the replay of a record prints.
fn replayed(record: &Path) -> String {
    let replayed =
        Command::new(env!("CARGO_BIN_EXE_vivarium")).arg("replay").arg(record).output().unwrap();
    let text = String::from_utf8_lossy(&replayed.stdout);
    assert!(replayed.status.success(), "{text}{}", String::from_utf8_lossy(&replayed.stderr));
    text.into_owned()
}

/// SIGTERM ends the process with the verdict.
#[tokio::test]
async fn a_signal_ends_it_with_the_verdict() {
    let folder = tempfile::tempdir().unwrap();
    let mut served = Served::start(&folder.path().join("run.json"));
    let pid = served.child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    let mut rest = Vec::new();
    for line in served.output.by_ref().lines() {
        rest.push(line.unwrap());
    }
    assert!(rest[0].ends_with(" steps, no property was violated"), "{rest:?}");
    assert!(rest[1].starts_with("vivarium replay "), "{rest:?}");
    assert_eq!(served.child.wait().unwrap().code(), Some(0));
}
