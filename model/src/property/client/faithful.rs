//! H15: a client machine is faithful.
//!
//! The machine passes on to its program everything that its server has sent and that happened to the connection, in
//! that order, and nothing else. Each call has its own reply, once (rules 2.8.4, 2.8.5 and 2.8.8). A watch is
//! notified of the events that fire it, of its removal, or of the end of its session (rule 3.3). The session's states
//! are those of `ClientCnxn`.
//!
//! The machine sends to its server what its program has asked, in order, by whole paths. To a server to which it
//! reconnects, it sends what it has seen and what it watches in this session (rules 2.8.6, 2.8.7 and 3.4.1). It has
//! one connection at a time, and closes it only for a reason.

use super::account::Account;
use crate::minds;
use crate::program::exchange::Exchange;
use crate::property::{Declaration, Declared, LooksBack, Objection, View};
use crate::vocabulary::config::Config;
use crate::vocabulary::id::ClientId;
use crate::vocabulary::time::Time;
use std::sync::Arc;

/// The monitor of H15. Only sweeps ask it: it judges each step of a client machine, and searches take these steps in
/// fewer orders.
#[derive(Clone, Debug, Default, Hash)]
pub struct FaithfulClient {
    accounts: Vec<Account>,
}

impl FaithfulClient {
    /// Returns a monitor without clients.
    pub fn new() -> FaithfulClient {
        FaithfulClient::default()
    }

    fn passed(&mut self, at: Time, client: ClientId, exchange: &Exchange) -> Result<(), String> {
        let account = &mut self.accounts[client.index()];
        account.at(at);
        match exchange {
            Exchange::Opened { server } => return account.opened(*server),
            Exchange::Wrote(packet) => return account.wrote(packet),
            Exchange::HungUp => return account.hung_up(),
            _ => account.settled()?,
        }
        match exchange {
            Exchange::Started => account.started(),
            Exchange::Ended => account.ended(),
            Exchange::Paused => account.paused(true),
            Exchange::Resumed => account.paused(false),
            Exchange::Asked { call, operation } => account.asked(*call, operation),
            Exchange::Abandoned { call } => account.abandoned(*call),
            Exchange::Told(input) => return account.told(input),
            Exchange::Read(packet) => account.read(packet),
            Exchange::Broke => account.broke(),
            Exchange::Fired(timer) => return account.fired(*timer),
            Exchange::Opened { .. } | Exchange::Wrote(_) | Exchange::HungUp => {}
        }
        Ok(())
    }
}

impl Declared for FaithfulClient {
    const DECLARATION: Declaration<Self> = Declaration::in_sweeps(
        "H15 a client machine is faithful",
        LooksBack::Nothing,
        minds! { |this, view, event|

        },
    )
    .begin(Self::begin)
    .exchange(Self::exchange)
    .end(Self::end);
}

impl FaithfulClient {
    fn begin(&mut self, config: &Arc<Config>) {
        self.accounts = config.clients.iter().map(Account::new).collect();
    }

    fn exchange(
        &mut self,
        view: View<'_>,
        client: ClientId,
        exchange: &Exchange,
    ) -> Result<(), Objection> {
        let judged = self.passed(view.at(), client, exchange);
        judged.map_err(|saw| self.objection(format!("{client} {saw}.")).about(client))
    }

    fn end(&mut self, view: View<'_>) -> Result<(), Objection> {
        for (client, account) in self.accounts.iter().enumerate() {
            let judged = account.settled().and_then(|()| account.end(view.at()));
            let client = ClientId::at(client);
            judged.map_err(|saw| self.objection(format!("{client} {saw}.")).about(client))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
