//! strace on a running server: it can slow down system calls or make them fail, without a change of the server.

use super::error::FindingError;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How long strace may take to attach to a process.
const ATTACHES: Duration = Duration::from_secs(20);

/// How long strace may take to detach.
const LETS_GO: Duration = Duration::from_secs(10);

/// A running strace. Dropping it lets the server continue undisturbed.
#[derive(Debug)]
pub(super) struct Tracer {
    child: Child,
    /// The file with its output.
    output: PathBuf,
}

impl Tracer {
    /// Checks that strace can be run.
    pub(super) fn check() -> Result<(), FindingError> {
        let asked = Command::new("strace").arg("-V").stdout(Stdio::null()).status();
        asked.map(|_status| ()).map_err(|_error| FindingError::NoStrace)
    }

    /// Attaches to every thread of a process, with further arguments, and waits until it has attached. Its output is
    /// written into `directory`.
    pub(super) fn attach(
        process: u32,
        arguments: &[&str],
        directory: &Path,
    ) -> Result<Tracer, FindingError> {
        let process = process.to_string();
        Tracer::begin(&process, &["-f"], arguments, directory)
    }

    /// Attaches to one thread of a process, by the thread's name.
    pub(super) fn attach_to_thread(
        process: u32,
        name: &str,
        arguments: &[&str],
        directory: &Path,
    ) -> Result<Tracer, FindingError> {
        let thread = thread_of(process, name);
        let missing = || FindingError::Otherwise(format!("there is no thread {name} to be traced"));
        let thread = thread.ok_or_else(missing)?;
        Tracer::begin(&thread, &[], arguments, directory)
    }

    fn begin(
        whom: &str,
        options: &[&str],
        arguments: &[&str],
        directory: &Path,
    ) -> Result<Tracer, FindingError> {
        // Several processes can be traced at the same time.
        let said = directory.join(format!("strace-{whom}-says"));
        let output = directory.join(format!("strace-{whom}"));
        let stderr =
            File::create(&said).map_err(FindingError::machine("strace's log cannot be made"))?;
        let child = Command::new("strace")
            .args(options)
            .args(["-p", whom])
            .arg("-o")
            .arg(&output)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(stderr)
            .spawn()
            .map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => FindingError::NoStrace,
                _ => FindingError::Machine { what: "strace cannot be started", source: error },
            })?;
        let mut tracer = Tracer { child, output };
        let begun = Instant::now();
        loop {
            let text = fs::read_to_string(&said).unwrap_or_default();
            if text.contains(" attached") {
                return Ok(tracer);
            }
            if tracer.has_ended() || begun.elapsed() > ATTACHES {
                let last = text.lines().last().unwrap_or("it says nothing").to_owned();
                return Err(FindingError::NotTraced(last));
            }
            thread::sleep(Duration::from_millis(10));
        }
    }

    fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Releases the server: delayed system calls continue.
    pub(super) fn let_go(mut self) {
        self.end();
    }

    /// Kills the process, even inside a delayed system call.
    pub(super) fn kill(mut self, process: u32) {
        signal(process, "KILL");
        // strace would wait for the end of the delay. The process cannot continue, because it has received the signal.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Returns the output so far.
    pub(super) fn trace(&self) -> Result<String, FindingError> {
        let text =
            fs::read(&self.output).map_err(FindingError::machine("strace's output is missing"))?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    /// Kills the process, waits until strace has seen its end, and returns the output. This takes as long as a system
    /// call is delayed.
    pub(super) fn kill_and_read(mut self, process: u32) -> Result<String, FindingError> {
        signal(process, "KILL");
        let begun = Instant::now();
        while !self.has_ended() {
            if begun.elapsed() > LETS_GO {
                let what = "the end of strace with its process".to_owned();
                return Err(FindingError::NotSeen { what, patience: LETS_GO });
            }
            thread::sleep(Duration::from_millis(5));
        }
        self.trace()
    }

    fn end(&mut self) {
        let begun = Instant::now();
        signal(self.child.id(), "TERM");
        while !self.has_ended() {
            if begun.elapsed() > LETS_GO {
                let _ = self.child.kill();
                let _ = self.child.wait();
                return;
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        if !self.has_ended() {
            self.end();
        }
    }
}

/// Returns the id of the process's thread with this name. The system keeps the first 15 bytes of a name.
fn thread_of(process: u32, name: &str) -> Option<String> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).ok()?;
    let is_it = |path: &Path| {
        let kept = fs::read_to_string(path.join("comm")).unwrap_or_default();
        !kept.trim_end().is_empty() && kept.trim_end() == &name[..name.len().min(15)]
    };
    let thread = threads.filter_map(|entry| Some(entry.ok()?.path())).find(|path| is_it(path))?;
    Some(thread.file_name()?.to_string_lossy().into_owned())
}

/// Sends a signal to a process that was started here and has not been waited for.
pub(super) fn signal(process: u32, name: &str) {
    let command = Command::new("kill").args(["-s", name, &process.to_string()]).status();
    // If there is no `kill`, the caller detects that the signal had no effect.
    let _ = command;
}
