//! Searches in several processes of the command, compared with searches in one; what happens when a process is killed; and
//! the files under `scenarios/cluster`, run on this machine.
#![cfg(all(feature = "cli", unix))]

use serde_json::Value;
use std::fs;
use std::io::Write as _;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

const VIVARIUM: &str = env!("CARGO_BIN_EXE_vivarium");

/// Creates an empty directory for a test.
fn directory(test: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cluster").join(test);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).expect("cargo's directory is writable");
    path
}

fn command(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(VIVARIUM);
    command.arg("explore").args(arguments).current_dir(directory).env_remove("CARGO");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn explore(directory: &Path, arguments: &[&str]) -> Output {
    command(directory, arguments).output().expect("the binary was built")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("reports are text")
}

/// Returns the JSON report without what the number of processes changes: times, bytes, what was checked, and how often.
fn comparable(output: &Output) -> Value {
    let mut document: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("{error}: {}{}", text(&output.stdout), text(&output.stderr))
    });
    let exploration = document["explorations"][0].as_object_mut().expect("one search");
    for field in [
        "threads",
        "processes",
        "visited_bytes",
        "pieces_bytes",
        "generated_per_second",
        "bytes_per_state",
        "wall_seconds",
        "programs",
        "peak_frontier",
        "claims",
        "dimensions",
    ] {
        assert!(exploration.remove(field).is_some(), "{field}");
    }
    document
}

/// Writes a file with this many free addresses of this machine, and returns them.
fn hosts(directory: &Path, processes: usize) -> Vec<String> {
    let listen = |_| TcpListener::bind("127.0.0.1:0").expect("there is a free port");
    let listeners: Vec<_> = (0..processes).map(listen).collect();
    let address = |listener: &TcpListener| listener.local_addr().expect("it listens").to_string();
    let addresses: Vec<String> = listeners.iter().map(address).collect();
    fs::write(directory.join("hosts"), addresses.join("\n") + "\n").expect("it is writable");
    addresses
}

/// Starts each process of a file of hosts.
fn started(directory: &Path, arguments: &[&str], processes: usize) -> Vec<Child> {
    let one = |process: usize| {
        let process = process.to_string();
        let those = ["--hosts", "hosts", "--process", &process];
        command(directory, &[arguments, &those].concat()).spawn().expect("the binary was built")
    };
    (0..processes).map(one).collect()
}

/// Recipes and servers, what holds and what is violated.
#[test]
fn several_processes_report_what_one_reports() {
    let directory = directory("same");
    for search in [
        &["lock"][..],
        &["counter", "--lost", "1", "--max-time", "1000"],
        &["published-queue-page"],
        &["broadcast", "--servers", "2", "--txns", "1", "--crashes", "1"],
        &["broadcast", "--servers", "2", "--bug", "TruncKeepsRecordBeyond"],
    ] {
        let asked = [search, &["--json"]].concat();
        let alone = explore(&directory, &asked);
        for processes in ["2", "3"] {
            let together = explore(&directory, &[&asked[..], &["--processes", processes]].concat());
            assert_eq!(comparable(&together), comparable(&alone), "{search:?} {processes}");
            assert_eq!(together.status.code(), alone.status.code(), "{search:?}");
            assert!(!text(&together.stderr).contains("panicked"), "{}", text(&together.stderr));
        }
    }
}

#[test]
fn processes_of_a_file_of_hosts_search_together() {
    let directory = directory("hosts");
    hosts(&directory, 3);
    let asked = ["published-queue-page", "--threads", "1"];
    let processes = started(&directory, &asked, 3);
    let ended: Vec<Output> =
        processes.into_iter().map(|one| one.wait_with_output().expect("it ends")).collect();
    assert!(ended.iter().all(|output| output.status.code() == Some(1)), "{ended:?}");
    let report = text(&ended[0].stdout);
    assert!(report.contains("3 processes of 1 thread"), "{report}");
    assert!(report.contains("replay"), "{report}");
    for (process, output) in ended.iter().enumerate().skip(1) {
        let line = text(&output.stdout);
        assert!(
            line.starts_with(&format!("process {process} of 3: published-queue-page: violated")),
            "{line}"
        );
        assert!(line.ends_with("Process 0 has the report.\n"), "{line}");
    }
}

/// Kills a process of three at this time, which ends the others; goes on from their checkpoint, and is killed again. In
/// the end, the report is that of one process that was never killed.
#[test]
fn a_search_goes_on_after_its_processes_were_killed() {
    let directory = directory("resumed");
    let search = ["lock", "--lost", "1", "--threads", "1", "--json"];
    let keeping = ["--checkpoint", "kept", "--checkpoint-every", "1"];
    for (victim, after) in [(1, 4_000), (0, 5_000), (2, 4_500)] {
        hosts(&directory, 3);
        let has_begun = directory.join("kept.0").exists();
        let resume: &[&str] = if has_begun { &["--resume", "kept"] } else { &[] };
        let mut processes = started(&directory, &[&search[..], &keeping, resume].concat(), 3);
        std::thread::sleep(Duration::from_millis(after));
        processes[victim].kill().expect("it can be killed");
        for one in processes {
            one.wait_with_output().expect("it ends");
        }
    }
    hosts(&directory, 3);
    let asked = [&search[..], &["--resume", "kept"]].concat();
    let ended = started(&directory, &asked, 3).into_iter();
    let ended: Vec<Output> = ended.map(|one| one.wait_with_output().expect("it ends")).collect();
    assert!(text(&ended[0].stderr).contains("lock: going on from"), "{}", text(&ended[0].stderr));
    let alone = explore(&directory, &search);
    assert_eq!(comparable(&ended[0]), comparable(&alone));
}

/// A killed process ends the search in the others, with its name, and the verdict is not "held".
#[test]
fn a_killed_process_ends_the_search() {
    let directory = directory("killed");
    let addresses = hosts(&directory, 3);
    let asked = ["lock", "--clients", "3", "--lost", "2", "--threads", "1"];
    let mut processes = started(&directory, &asked, 3);
    std::thread::sleep(Duration::from_secs(3));
    processes[1].kill().expect("it runs");
    let killed = processes.remove(1).wait_with_output().expect("it ends");
    assert_eq!(killed.status.code(), None, "{}", text(&killed.stdout));
    for one in processes {
        let output = one.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
        let said = text(&output.stdout);
        let why = format!("process 1 at {}, which has ended", addresses[1]);
        assert!(said.contains(&why), "{said}");
        assert!(!text(&output.stderr).contains("panicked"), "{}", text(&output.stderr));
    }
}

#[test]
fn what_makes_no_sense_is_refused_in_one_sentence() {
    let directory = directory("refused");
    let refused = |arguments: &[&str]| {
        let output = explore(&directory, &[&["lock"], arguments].concat());
        assert_eq!(output.status.code(), Some(3), "{arguments:?}");
        text(&output.stderr).trim_end().to_string()
    };
    let addresses = hosts(&directory, 2);
    for (arguments, sentence) in [
        // One process, whose checkpoint is none of several.
        (
            &["--processes", "01", "--resume", "none"][..],
            "`none` cannot be read: No such file or directory (os error 2)",
        ),
        (&["--processes", "0"], "`--processes 0`: give at least 1"),
        (&["--process", "1"], "`--process`: add `--hosts FILE`"),
        (&["--hosts", "hosts"], "`--hosts`: add `--process I`, which of them this is, from 0"),
        (&["--hosts", "hosts", "--process", "2"], "`--process 2` is too many: give at most 1"),
        (
            &["--hosts", "hosts", "--process", "0", "--processes", "3"],
            "the hosts `hosts`: it names 2 addresses for 3 processes",
        ),
        (
            &["--processes", "2", "--depth-first"],
            "a search in several processes goes breadth first: leave `--depth-first` out",
        ),
        (
            &["--processes", "2", "--resume", "none"],
            "the checkpoint cannot be resumed: no process has a part of it that fits this search, its processes and its \
             threads",
        ),
    ] {
        assert_eq!(refused(arguments), format!("error: {sentence}"));
    }
    let _taken = TcpListener::bind(&addresses[1]).expect("it was free");
    let sentence = refused(&["--hosts", "hosts", "--process", "1"]);
    assert!(sentence.starts_with("error: process 1 cannot listen on `127.0.0.1:"), "{sentence}");
    let missing = refused(&["--hosts", "none", "--process", "1"]);
    assert!(missing.starts_with("error: the hosts `none` cannot be read: "), "{missing}");
}

/// Two processes with different commands refuse each other.
#[test]
fn other_commands_are_refused() {
    let directory = directory("others");
    hosts(&directory, 2);
    let one = |process: &str, lost: &str| {
        let those = ["lock", "--lost", lost, "--hosts", "hosts", "--process", process];
        command(&directory, &those).spawn().expect("the binary was built")
    };
    for process in [one("0", "1"), one("1", "2")] {
        let output = process.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(3), "{}", text(&output.stdout));
        let said = text(&output.stderr);
        assert!(said.contains("the processes could not begin together: process "), "{said}");
        assert!(said.contains("makes another search, or is another program"), "{said}");
    }
}

/// A stranger that connects, and says nothing or something else, is not taken for a process.
#[test]
fn strangers_are_left_alone() {
    let directory = directory("strangers");
    let addresses = hosts(&directory, 2);
    let asked = ["published-queue-page", "--hosts", "hosts", "--process"];
    let first = command(&directory, &[&asked[..], &["0"]].concat()).spawn().expect("it was built");
    let connect = || loop {
        match std::net::TcpStream::connect(&addresses[0]) {
            Ok(stream) => return stream,
            Err(_) => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    drop(connect());
    let mut wrong = connect();
    wrong.write_all(&[b'x'; 100]).expect("it listens");
    let mut page = connect();
    page.write_all(b"GET / HTTP/1.1\r\nhost: here, with enough words to fill a hello\r\n\r\n")
        .expect("it listens");
    std::thread::sleep(Duration::from_secs(3));
    let second = explore(&directory, &[&asked[..], &["1"]].concat());
    assert_eq!(second.status.code(), Some(1), "{}", text(&second.stderr));
    let output = first.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
    let waited = format!("published-queue-page: waiting for process 1 at {}\n", addresses[1]);
    assert_eq!(text(&output.stderr).matches(&waited).count(), 1, "{}", text(&output.stderr));
}

/// Writes a program that stands for one of a cluster's.
fn program(directory: &Path, name: &str, script: &str) {
    let path = directory.join(name);
    fs::write(&path, format!("#!/usr/bin/env bash\nset -euo pipefail\n{script}")).expect("written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it is ours");
}

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("cluster").join(name)
}

/// Returns a command in which programs of this directory come first.
fn with_programs(directory: &Path, program: &Path) -> Command {
    let paths = std::env::var("PATH").expect("there is a path");
    let mut command = Command::new("bash");
    command.arg(program).current_dir(directory).env_remove("CARGO");
    command.env("PATH", format!("{}:{paths}", directory.display())).env("VIVARIUM", VIVARIUM);
    command
}

/// Slurm's commands are stood for by scripts: three machines, which are all this one.
#[test]
fn the_search_of_slurm_runs() {
    let directory = directory("slurm");
    program(&directory, "scontrol", "for _ in 1 2 3; do echo 127.0.0.1; done\n");
    let srun = "export SLURM_CPUS_PER_TASK=1
for process in 1 2; do SLURM_PROCID=$process \"$@\" > other.$process & done
code=0
SLURM_PROCID=0 \"$@\" || code=$?
wait
exit $code
";
    program(&directory, "srun", srun);
    let port = hosts(&directory, 1)[0].rsplit(':').next().expect("a port").to_string();
    let mut command = with_programs(&directory, &file("search.sbatch"));
    command.args(["published-queue-page"]);
    command.env("SLURM_JOB_ID", "7").env("SLURM_JOB_NODELIST", "three").env("PORT", port);
    let output = command.output().expect("bash is there");
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}{}", text(&output.stderr));
    assert!(said.contains("3 processes of 1 thread"), "{said}");
}

#[test]
fn the_sweep_of_slurm_runs() {
    let directory = directory("slurm-sweep");
    for task in ["1", "2"] {
        let mut command = with_programs(&directory, &file("sweep.sbatch"));
        command.args(["lock", "--seeds", "20"]).env("SLURM_ARRAY_TASK_ID", task);
        command.env("SLURM_ARRAY_TASK_COUNT", "2").env("SLURM_CPUS_PER_TASK", "1");
        let output = command.output().expect("bash is there");
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    let mut merge = Command::new(VIVARIUM);
    merge.args(["merge", "reports/1.json", "reports/2.json"]).current_dir(&directory);
    let output = merge.output().expect("the binary was built");
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("20"), "{}", text(&output.stdout));
}

/// The command of the pods, with addresses of this machine in place of their names.
#[test]
fn the_pods_of_kubernetes_run() {
    let directory = directory("kubernetes");
    let yaml = fs::read_to_string(file("kubernetes-search.yml")).expect("it is there");
    let block = yaml.split("            - |\n").nth(1).expect("a script");
    let script: Vec<&str> =
        block.lines().map_while(|line| line.strip_prefix("              ")).collect();
    fs::write(directory.join("pod.sh"), script.join("\n")).expect("it is writable");
    let port = hosts(&directory, 1)[0].rsplit(':').next().expect("a port").to_string();
    let pod = |process: &str| {
        let mut command = with_programs(&directory, Path::new("pod.sh"));
        command.env("JOB_COMPLETION_INDEX", process).env("PROCESSES", "2").env("THREADS", "1");
        command.env("SEARCH", "published-queue-page").env("HOST", "127.0.0.1");
        command.env("PORT", &port);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("bash is there")
    };
    let pods = [pod("0"), pod("1")];
    let ended = pods.map(|pod| pod.wait_with_output().expect("it ends"));
    let said = text(&ended[0].stdout);
    assert_eq!(ended[0].status.code(), Some(1), "{said}{}", text(&ended[0].stderr));
    assert!(said.contains("2 processes of 1 thread"), "{said}");
    assert_eq!(ended[1].status.code(), Some(1));
}
