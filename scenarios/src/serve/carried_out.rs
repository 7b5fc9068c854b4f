//! Commands are carried out.

use super::command::Command;
use super::core::Core;
use std::fmt::Write as _;
use vivarium_model::id::{ClientConnection, SessionId};
use vivarium_sim::served::{Refused, Reply};

impl Core {
    /// Carries out a command, and returns what is to be said about it.
    ///
    /// # Errors
    /// A sentence if it cannot be done.
    pub(super) fn command(&mut self, command: &Command) -> Result<String, String> {
        self.arrive();
        let answer = match command {
            Command::Leader => Ok(self.leader()),
            Command::Sessions => Ok(self.list_sessions()),
            Command::Status => Ok(self.status()),
            command => self.strike(command).map(|()| "done".to_owned()),
        };
        self.turn();
        answer
    }

    fn strike(&mut self, command: &Command) -> Result<(), String> {
        let served = &mut self.served;
        let done: Result<(), Refused> = match command {
            Command::Crash(server) => served.crash(*server),
            Command::PowerLoss(server) => served.power_loss(*server),
            Command::Restart(server) => served.restart(*server),
            Command::Pause(server) => served.pause(*server),
            Command::Resume(server) => served.resume(*server),
            Command::Partition(groups) => served.partition(groups),
            Command::PartitionOneWay(from, to) => served.partition_one_way(*from, *to),
            Command::SlowDisk(server, by) => served.slow_disk(*server, *by),
            Command::DiskFull(server) => served.disk_full(*server),
            Command::Expire(session) => served.expire(*session),
            Command::Heal => {
                served.heal();
                Ok(())
            }
            Command::Recover => {
                self.is_struck = false;
                served.recover();
                self.moves.clear();
                Ok(())
            }
            Command::Move(session, server) => {
                let connection = self.connection(*session)?;
                if !self.served.ensemble().config().server_ids().any(|id| id == *server) {
                    return Err(Refused::NoServer(server.0).to_string());
                }
                if self.served.ensemble().server_of(connection) != Some(*server) {
                    self.moves.insert(*session, *server);
                    self.served.disconnect(connection);
                }
                Ok(())
            }
            Command::Disconnect(session) => {
                let connection = self.connection(*session)?;
                self.served.disconnect(connection);
                Ok(())
            }
            Command::NextReply { session, request, path, lost } => {
                let connection = self.connection(*session)?;
                let (request, path) = (request.clone(), path.clone());
                self.served.lose_next(Reply { connection, request, path, lost: *lost });
                Ok(())
            }
            Command::Leader | Command::Sessions | Command::Status => Ok(()),
        };
        done.map_err(|refused| refused.to_string())
    }

    fn connection(&self, session: SessionId) -> Result<ClientConnection, String> {
        let found = self.sessions.get(&session).copied();
        found.ok_or_else(|| format!("session {session} has no connection"))
    }

    fn leader(&self) -> String {
        match self.served.ensemble().leader() {
            Some(leader) => format!("server {}", leader.0),
            None => "no server leads".to_owned(),
        }
    }

    fn list_sessions(&self) -> String {
        let line = |(session, connection): (&SessionId, &ClientConnection)| {
            let server = self.served.ensemble().server_of(*connection);
            let server = server.map_or_else(|| "no server".to_owned(), |server| server.to_string());
            format!("{session} at {server}")
        };
        let lines: Vec<String> = self.sessions.iter().map(line).collect();
        if lines.is_empty() { "no session has a connection".to_owned() } else { lines.join("\n") }
    }

    fn status(&self) -> String {
        let ensemble = self.served.ensemble();
        let mut text = String::new();
        for server in ensemble.config().server_ids() {
            let _ = writeln!(text, "{server}: {}", ensemble.state_of(server));
        }
        match ensemble.unjudged_outside() {
            0 => {}
            1 => text.push_str("1 session is not judged: its client re-attached it with a smaller zxid than it had read\n"),
            more => {
                let _ = writeln!(
                    text,
                    "{more} sessions are not judged: their clients re-attached them with smaller zxids than they had read"
                );
            }
        }
        let _ = match self.served.violation() {
            None => write!(text, "no property is violated"),
            Some(objection) => write!(text, "violated: {objection}"),
        };
        text
    }
}
