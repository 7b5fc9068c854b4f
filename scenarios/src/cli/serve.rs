//! `vivarium serve`: the modelled ensemble on sockets.

use super::arguments::ServeArguments;
use super::output::emit;
use super::select;
use crate::serve::{COMMANDS, Ensemble, ServeOptions, Tell};
use std::io::BufRead;
use std::path::Path;
use std::str::FromStr;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;
use vivarium_model::config::ServerOptions;
use vivarium_model::release::{Bug, Bugs};

/// ZooKeeper's usual port.
const PORT: u16 = 2181;

/// How often a violation is looked for.
const WATCH: Duration = Duration::from_millis(200);

/// Something that happens to the process.
enum Signal {
    /// A line on standard input.
    Line(String),
    /// The process is asked to end.
    End,
}

pub(super) fn serve(arguments: &ServeArguments) -> Result<u8, String> {
    let options = options(arguments)?;
    let (sender, signals) = channel();
    end_on_signals(sender.clone())?;
    std::thread::spawn(move || read_lines(&sender));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    runtime.block_on(run(options, signals, arguments.record.as_deref()))
}

async fn run(
    options: ServeOptions,
    signals: Receiver<Signal>,
    record: Option<&str>,
) -> Result<u8, String> {
    let ensemble = Ensemble::with(options).await.map_err(|error| error.to_string())?;
    emit(&format!("serving {}\ncommands: {COMMANDS}, save FILE\n", ensemble.connect_string()), 0);
    if let Some(http) = ensemble.http() {
        emit(&format!("http://{http}/openapi.json describes commands and views by HTTP\n"), 0);
    }
    let mut is_told = false;
    loop {
        match signals.recv_timeout(WATCH) {
            Ok(Signal::Line(line)) if line.trim().is_empty() => {}
            Ok(Signal::Line(line)) => {
                let said = carried_out(&ensemble, &line).await;
                let text = said.unwrap_or_else(|wrong| format!("error: {wrong}"));
                emit(&format!("{text}\n"), 0);
            }
            Ok(Signal::End) | Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) if is_told => {}
            Err(RecvTimeoutError::Timeout) => {
                if let Some(objection) = ensemble.violation().await {
                    is_told = true;
                    emit(&format!("violated: {objection}\n"), 0);
                }
            }
        }
    }
    let ended = ensemble.stop().await;
    let verdict = match &ended.violation {
        None => "no property was violated".to_owned(),
        Some(objection) => format!("violated: {objection}"),
    };
    let unjudged = match ended.unjudged {
        0 => String::new(),
        1 => ", 1 session not judged to its end".to_owned(),
        more => format!(", {more} sessions not judged to their end"),
    };
    let mut text = format!("{} steps, {verdict}{unjudged}\n", ended.steps);
    for name in &ended.unobserved {
        text.push_str(&format!(
            "no program has observed `{name}`, which a property needs: that property could not object\n"
        ));
    }
    if let Some(record) = record {
        text.push_str(&format!("vivarium replay {record} --timeline\n"));
    }
    Ok(emit(&text, u8::from(ended.violation.is_some())))
}

/// Carries out a line. `save` is no command of the ensemble, so that it is not taken by HTTP: it writes a file.
async fn carried_out(ensemble: &Ensemble, line: &str) -> Result<String, String> {
    match line.trim().split_once(char::is_whitespace) {
        Some(("save", file)) => {
            let path = Path::new(file.trim());
            ensemble.save(path).await.map(|()| format!("vivarium replay {}", path.display()))
        }
        _ => ensemble.command(line.parse()?).await,
    }
}

fn end_on_signals(sender: Sender<Signal>) -> Result<(), String> {
    ctrlc::set_handler(move || drop(sender.send(Signal::End))).map_err(|error| error.to_string())
}

/// Reads standard input to its end. An ensemble that was started in the background has none, and goes on.
fn read_lines(sender: &Sender<Signal>) {
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { return };
        if sender.send(Signal::Line(line)).is_err() {
            return;
        }
    }
}

fn options(arguments: &ServeArguments) -> Result<ServeOptions, String> {
    let defaults = ServeOptions::default();
    let release = select::release(arguments.release.as_deref())?;
    let bugs: Vec<Bug> = named(&arguments.bugs)?;
    let tick = parsed("--tick", arguments.tick.as_deref(), 2_000_u32, "a number of milliseconds")?;
    Ok(ServeOptions {
        servers: parsed("--servers", arguments.servers.as_deref(), defaults.servers, "a number")?,
        port: parsed("--port", arguments.port.as_deref(), PORT, "the number of a port")?,
        address: parsed("--listen", arguments.listen.as_deref(), defaults.address, "an address")?,
        http: match &arguments.http {
            None => None,
            Some(port) => Some(parsed("--http", Some(port), 0, "the number of a port")?),
        },
        chaos: match &arguments.chaos {
            None => None,
            Some(seed) => Some(parsed("--chaos", Some(seed), 0, "a number")?),
        },
        faults: named(&arguments.faults)?,
        properties: named(&arguments.properties)?,
        tell: Tell::new(|fault| {
            emit(&format!("chaos: {fault}\n"), 0);
        }),
        bugs: bugs.into_iter().fold(release.bugs(), Bugs::with),
        options: ServerOptions {
            extended_types: arguments.extended_types,
            enforce_quota: arguments.enforce_quota,
            read_only_mode: arguments.read_only_mode,
            local_sessions: arguments.local_sessions,
            local_sessions_upgrading: arguments.local_sessions,
            operations_of: release,
            super_digest: arguments.super_digest.as_deref().map(Into::into),
            ..ServerOptions::default()
        },
        tick: Duration::from_millis(tick.into()),
        seed: parsed("--seed", arguments.seed.as_deref(), defaults.seed, "a number")?,
        speed: parsed("--speed", arguments.speed.as_deref(), defaults.speed, "a number")?,
        virtual_time: arguments.virtual_time,
        record: arguments.record.as_deref().map(|path| Path::new(path).to_path_buf()),
        ..defaults
    })
}

/// Reads each of these texts.
fn named<T: FromStr<Err: ToString>>(texts: &[String]) -> Result<Vec<T>, String> {
    texts.iter().map(|text| text.parse().map_err(|wrong: T::Err| wrong.to_string())).collect()
}

fn parsed<T: FromStr>(
    option: &str,
    text: Option<&str>,
    default: T,
    what: &str,
) -> Result<T, String> {
    let Some(text) = text else { return Ok(default) };
    text.parse().map_err(|_| format!("{option} needs {what}, not `{text}`"))
}
