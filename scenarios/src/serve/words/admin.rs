//! The commands of the admin server, at `/commands/NAME`.

use super::commands::{self, Fields};
use super::json::Json;
use super::{NOT_SERVING, Reset, Status, monitor};
use std::fmt;

/// A command of the admin server.
#[derive(Clone, Copy, Debug)]
pub struct Command {
    /// The primary name, which responses have.
    pub name: &'static str,
    /// Other names that are accepted.
    pub aliases: &'static [&'static str],
    /// True if only a serving server executes the command.
    server_required: bool,
    fields: fn(&Status) -> Fields,
}

const fn command(
    name: &'static str,
    aliases: &'static [&'static str],
    fields: fn(&Status) -> Fields,
) -> Command {
    Command { name, aliases, server_required: true, fields }
}

const fn of_any_server(
    name: &'static str,
    aliases: &'static [&'static str],
    fields: fn(&Status) -> Fields,
) -> Command {
    Command { name, aliases, server_required: false, fields }
}

/// Every command, by name. Left out are `set_trace_mask` and `observer_connection_stat_reset`, and `snapshot` and
/// `restore` of 3.9.
///
/// A real server fails with status 500 if it is asked for `monitor` while it does not serve. Here that is refused like
/// other commands.
pub const COMMANDS: &[Command] = &[
    command("configuration", &["conf", "config"], commands::configuration),
    command("connection_stat_reset", &["crst"], commands::nothing),
    command("connections", &["cons"], commands::connections),
    command("dirs", &[], commands::directories),
    command("dump", &[], commands::dump),
    of_any_server("environment", &["env", "envi"], commands::environment),
    of_any_server("get_trace_mask", &["gtmk"], commands::trace_mask),
    command("hash", &[], commands::digests),
    command("initial_configuration", &["icfg"], commands::initial_configuration),
    command("is_read_only", &["isro"], commands::is_read_only),
    command("last_snapshot", &["lsnp"], commands::last_snapshot),
    command("leader", &["lead"], commands::leader),
    command("monitor", &["mntr"], monitor::metrics),
    command("observers", &["obsr"], commands::observers),
    command("ruok", &[], commands::nothing),
    command("server_stats", &["srvr"], commands::server_stats),
    command("stat_reset", &["srst"], commands::nothing),
    command("stats", &["stat"], commands::stats),
    of_any_server("system_properties", &["sysp"], commands::system_properties),
    command("voting_view", &[], commands::voting_view),
    command("watch_summary", &["wchs"], commands::watch_summary),
    command("watches", &["wchc"], commands::watches),
    command("watches_by_path", &["wchp"], commands::watches_by_path),
    of_any_server("zabstate", &[], commands::zab_state),
];

impl Command {
    /// Returns the command with this name or alias; `None` for any other name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Command> {
        COMMANDS.iter().find(|command| command.name == name || command.aliases.contains(&name))
    }

    /// Returns the response of a server to the command with this name. An unknown name is an error in the response.
    #[must_use]
    pub fn run(name: &str, status: &Status) -> Response {
        match Command::named(name) {
            None => Response::error(name, format!("Unknown command: {name}")),
            Some(command) if command.server_required && !status.serving => {
                Response::error(name, NOT_SERVING.to_owned())
            }
            Some(command) => Response {
                command: command.name.to_owned(),
                error: None,
                fields: (command.fields)(status),
            },
        }
    }

    /// Returns the counters that a serving server resets when it executes the command. `stat_reset` keeps the proposal
    /// sizes, unlike `srst`.
    #[must_use]
    pub fn reset(&self) -> Option<Reset> {
        match self.name {
            "stat_reset" => Some(Reset::Server),
            "connection_stat_reset" => Some(Reset::Connections),
            _ => None,
        }
    }
}

/// Returns the page at `/commands`: a link to each command below this path.
#[must_use]
pub fn links(path: &str) -> String {
    let link = |name| format!("<a href=\"{path}/{name}\">{name}</a>\n<br/>\n");
    COMMANDS.iter().map(|command| link(command.name)).collect()
}

/// The response to a command. `Display` prints the JSON that the admin server sends as `application/json`, with status
/// 200 even if the response is an error.
#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    /// The primary name of the command, or the name that the client sent if the command is not executed.
    pub command: String,
    /// The reason for which the command was not executed.
    pub error: Option<String>,
    /// The other fields, in the order of the response.
    pub fields: Vec<(String, Json)>,
}

impl Response {
    fn error(command: &str, error: String) -> Response {
        Response { command: command.to_owned(), error: Some(error), fields: Vec::new() }
    }

    /// Returns the response as an object with `command` and `error` as its last fields, unless the command itself
    /// returns a field of that name.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let mut fields = self.fields.clone();
        let error = self.error.as_deref().map_or(Json::Null, Json::from);
        for (name, value) in [("command", Json::from(self.command.as_str())), ("error", error)] {
            if fields.iter().all(|field| field.0 != name) {
                fields.push((name.to_owned(), value));
            }
        }
        Json::Object(fields)
    }
}

impl fmt::Display for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_json().fmt(f)
    }
}
