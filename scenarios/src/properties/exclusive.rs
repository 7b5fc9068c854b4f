//! Mutual exclusion: between an observation that begins something and one that ends it, no other client is between
//! the two.
//!
//! The property judges what programs *believe*. No algorithm prevents overlapping beliefs: a program learns that its
//! session is over only after ZooKeeper has decided so, and a paused program even later. So unless the property is
//! [`strict`](Property::strictly), one of two holders may have a session that is over in the committed history (a
//! *zombie*). If grants have fencing tokens, the zombie must be the holder of the smaller token. The excuse ends when
//! the program knows that its session is over, or shows that it knows: after any result of its handle that says so
//! (SessionExpired, the end of a watch, a connection with another session) and what it does at once after that, and
//! when it makes any observation in another session.
//!
//! A belief ends with the process that has it: a killed program believes nothing, although its ephemeral znode
//! remains until its session ends (a [`tree_always`](super::tree_always()) can judge who is granted during that
//! time). A paused client keeps its beliefs.

use super::property::{Hears, Key, Keyed, Property, Rule};
use super::said::{Datum, Said};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use vivarium_model::config::Config;
use vivarium_model::event::{Event, Over};
use vivarium_model::id::{ClientId, SessionId};
use vivarium_model::op::SessionState;
use vivarium_model::property::{LooksBack, View};
use vivarium_model::zxid::Zxid;

/// The rule of [`never_two_at_once`].
#[derive(Clone, Hash)]
pub struct Exclusive {
    begins: Arc<str>,
    ends: Arc<str>,
    strict: bool,
    ends_with_session: bool,
    token: Option<Arc<str>>,
    guards: Option<Arc<str>>,
    /// True if sessions can be local: the history does not know these, so no overlap is excused.
    unknown_sessions: bool,
    /// By key and client; a client has at most one belief of each key.
    held: BTreeMap<Key, BTreeMap<ClientId, Held>>,
    /// The clients that were notified that their session has expired.
    told: BTreeSet<ClientId>,
    /// The largest token granted, and the observation that granted it.
    largest: BTreeMap<Key, (Datum, Arc<str>)>,
    /// The largest token that the guarded resource accepted, and the client that sent it.
    accepted: Option<(Zxid, ClientId)>,
}

/// A client's belief that it holds something.
#[derive(Clone, Hash)]
struct Held {
    /// The client's session when the belief began. `None` if it had none yet, or was notified of its end before.
    session: Option<SessionId>,
    /// True if `session` is `None` because the client was notified of its end.
    had_expired: bool,
    /// True if the program knows that this session is over.
    knows: bool,
    token: Option<Datum>,
    /// The observation that began the belief.
    words: Arc<str>,
}

/// No two clients are between the observations `begins` and `ends` at once; [per](Property::per) a field, such as the
/// path, no two with the same value of it.
///
/// Both engines; judged at each `begins`, and when a holder shows that it knows that its session is over. The options
/// are [`strictly`](Property::strictly), [`token`](Property::token), [`guarding`](Property::guarding) and
/// [`ending_with_session`](Property::ending_with_session). A program ends its beliefs when it returns, fails or is
/// killed. A client that says `begins` twice counts as two holders, unless its session ended in between; `ends` of a
/// client that does not hold has no effect.
///
/// A program must say `begins` as soon as it holds, because the session of its client at that moment counts. It must
/// say `ends` before it gives back what it holds, because another client may hold right after that.
///
/// ```
/// use vivarium::prelude::*;
///
/// let exclusive = never_two_at_once("granted", "released").per("path").token("token");
/// # let _ = Test::new("t", |_| async { Ok(()) }).monitor(exclusive);
/// ```
pub fn never_two_at_once(begins: &str, ends: &str) -> Property<Exclusive> {
    let rule = Exclusive {
        begins: Arc::from(begins),
        ends: Arc::from(ends),
        strict: false,
        ends_with_session: false,
        token: None,
        guards: None,
        unknown_sessions: false,
        held: BTreeMap::new(),
        told: BTreeSet::new(),
        largest: BTreeMap::new(),
        accepted: None,
    };
    Property::new("never two at once", rule)
}

impl Property<Exclusive> {
    /// Excuses no overlap, not even by a session that is over. No lock in ZooKeeper can guarantee this if sessions
    /// expire; a lock of persistent znodes can.
    #[must_use]
    pub fn strictly(mut self) -> Self {
        self.rule.strict = true;
        self
    }

    /// Expects a fencing token in this field of each grant, such as the czxid of its znode: a zxid or a number. Each
    /// token must be larger than all before (with the same key), except those of zombies; of two holders, the one
    /// with the smaller token is the zombie.
    #[must_use]
    pub fn token(mut self, field: &str) -> Self {
        self.rule.token = Some(Arc::from(field));
        self
    }

    /// Requires that this outside resource ([`ZooKeeper::write_resource`](crate::prelude::ZooKeeper::write_resource))
    /// accepts no write without a token, and none with a smaller token than it has accepted before.
    #[must_use]
    pub fn guarding(mut self, resource: &str) -> Self {
        self.rule.guards = Some(Arc::from(resource));
        self
    }

    /// Requires that a belief ends before its client connects with another session: the excuse ends then, even if the
    /// program makes no observation. Unsuitable for programs that wait in `connect` while they hold: their client
    /// begins the new session before they learn of it.
    #[must_use]
    pub fn ending_with_session(mut self) -> Self {
        self.rule.ends_with_session = true;
        self
    }
}

impl Held {
    /// Returns true if the belief began in an earlier session than `session`, the client's present one.
    fn is_older_than(&self, session: SessionId) -> bool {
        self.session.map_or(self.had_expired, |own| own != session)
    }

    /// Returns true if the belief began in one of the sessions that are over.
    fn is_by(&self, over: Over) -> bool {
        self.session.map_or(self.had_expired, |own| over.includes(own))
    }
}

impl Exclusive {
    /// Returns true if a holder is excused: its session is over, and it does not know that.
    fn is_zombie(&self, view: View<'_>, held: &Held) -> bool {
        let is_over = |session: SessionId| !view.history.tree().sessions().contains_key(&session);
        let excuses = !self.strict && !self.unknown_sessions && !held.knows;
        excuses && held.session.map_or(held.had_expired, is_over)
    }

    /// Returns true if these two beliefs may overlap.
    fn may_overlap(&self, view: View<'_>, one: &Held, other: &Held) -> Result<bool, String> {
        if let (Some(token), Some(others)) = (&one.token, &other.token) {
            let is_smaller = token.compare(others)?.is_lt();
            return Ok(self.is_zombie(view, if is_smaller { one } else { other }));
        }
        Ok(self.is_zombie(view, one) || self.is_zombie(view, other))
    }

    /// Fails if other clients hold what this client holds, and no excuse applies.
    fn check(&self, view: View<'_>, key: &Key, client: ClientId) -> Result<(), String> {
        let Some(all) = self.held.get(key) else { return Ok(()) };
        let Some(held) = all.get(&client) else { return Ok(()) };
        for (other, theirs) in all.iter().filter(|(other, _)| **other != client) {
            if !self.may_overlap(view, held, theirs)? {
                return Err(self.collision(view, held, other, theirs));
            }
        }
        Ok(())
    }

    fn collision(&self, view: View<'_>, held: &Held, other: &ClientId, theirs: &Held) -> String {
        let why = match (self.strict, held.knows, theirs.knows) {
            (true, ..) => "which nothing excuses here",
            (_, true, _) | (_, _, true) => {
                "and the program of one of them had been notified that its session is over"
            }
            _ if self.is_zombie(view, held) || self.is_zombie(view, theirs) => {
                "and the session of the smaller token is open"
            }
            _ => "and no session of theirs is over",
        };
        let (words, ends) = (&theirs.words, &self.ends);
        format!("{} while {words} and {other} has not said `{ends}` since, {why}", held.words)
    }

    fn begin(&mut self, view: View<'_>, key: Key, said: &Said<'_>) -> Result<(), String> {
        let (client, words) = (said.client(), said.to_string());
        let token = self.token.as_ref().map(|field| said.field(field)?.token()).transpose()?;
        let new = Held {
            session: said.session(),
            had_expired: self.told.contains(&client),
            knows: false,
            token,
            words: Arc::from(words),
        };
        self.grows(view, &key, &new)?;
        let all = self.held.entry(key.clone()).or_default();
        if let Some(old) = all.insert(client, new.clone())
            && !(old.session != new.session && self.is_zombie(view, &old))
        {
            let (old, ends) = (&old.words, &self.ends);
            return Err(format!("{} although {old} and has not said `{ends}` since", new.words));
        }
        self.check(view, &key, client)?;
        // A client with a grant in a new session knows that the old session is over.
        said.session().map_or(Ok(()), |session| self.goes_on(view, client, session))
    }

    /// Fails unless the token is larger than all before, or its holder is a zombie.
    fn grows(&mut self, view: View<'_>, key: &Key, new: &Held) -> Result<(), String> {
        let Some(token) = &new.token else { return Ok(()) };
        if let Some((largest, words)) = self.largest.get(key) {
            let order = token.compare(largest)?;
            if order.is_eq() {
                return Err(format!("{}, and this token was granted before: {words}", new.words));
            }
            if order.is_lt() && self.is_zombie(view, new) {
                return Ok(());
            }
            if order.is_lt() {
                return Err(format!("{} after a larger token was granted: {words}", new.words));
            }
        }
        self.largest.insert(key.clone(), (token.clone(), Arc::clone(&new.words)));
        Ok(())
    }

    /// Records that a client continues in this session, and so knows that its earlier ones are over.
    fn goes_on(
        &mut self,
        view: View<'_>,
        client: ClientId,
        session: SessionId,
    ) -> Result<(), String> {
        self.knows(view, client, &|held| held.is_older_than(session))
    }

    /// Records that a client's program knows that the sessions of some of its beliefs are over.
    fn knows(
        &mut self,
        view: View<'_>,
        client: ClientId,
        of: &dyn Fn(&Held) -> bool,
    ) -> Result<(), String> {
        let mut known = Vec::new();
        for (key, all) in &mut self.held {
            if let Some(held) = all.get_mut(&client).filter(|held| of(held)) {
                held.knows = true;
                known.push(key.clone());
            }
        }
        known.iter().try_for_each(|key| self.check(view, key, client))
    }

    fn end_of(&mut self, client: ClientId) {
        self.held.retain(|_, all| {
            all.remove(&client);
            !all.is_empty()
        });
    }

    fn holds(&self, client: ClientId) -> bool {
        self.held.values().any(|all| all.contains_key(&client))
    }

    /// Returns true if the client holds anything by an earlier session than this.
    fn holds_by_an_older(&self, client: ClientId, session: Option<SessionId>) -> bool {
        let mut held = self.held.values().filter_map(|all| all.get(&client));
        session.is_some_and(|session| held.any(|held| held.is_older_than(session)))
    }

    /// Returns true if the client holds anything by a session that is over.
    fn holds_by(&self, client: ClientId, over: Over) -> bool {
        self.held.values().filter_map(|all| all.get(&client)).any(|held| held.is_by(over))
    }

    fn accepts(&mut self, client: ClientId, token: Option<Zxid>) -> Result<(), String> {
        let resource = self.guards.as_ref().expect("one is guarded");
        let Some(token) = token else {
            return Err(format!(
                "resource {resource} accepted a write of {client} without a token"
            ));
        };
        match self.accepted {
            Some((largest, other)) if token < largest => Err(format!(
                "resource {resource} accepted token {token} from {client} after token {largest} from \
                 {other}"
            )),
            _ => {
                self.accepted = Some((token, client));
                Ok(())
            }
        }
    }

    fn is_guarded(&self, event: &Event) -> bool {
        matches!((event, &self.guards), (Event::ResourceWrite { resource, .. }, Some(guarded))
            if resource == guarded)
    }

    fn is_about(&self, said: &Said<'_>) -> bool {
        said.name() == &*self.begins || said.name() == &*self.ends
    }
}

impl Hears for Exclusive {}

impl Keyed for Exclusive {}

impl Rule for Exclusive {
    fn hears(&self, name: &str) -> bool {
        *name == *self.begins || *name == *self.ends
    }

    fn looks_for(&self) -> Vec<Arc<str>> {
        vec![Arc::clone(&self.begins)]
    }

    /// The rule looks at the open sessions. It need not declare that the order of a grant and of a commit that closes
    /// a session matters: both are steps that a search tries in every order.
    fn reach(&self) -> LooksBack {
        LooksBack::Tip
    }

    fn minds_own(&self) -> bool {
        true
    }

    fn begin(&mut self, config: &Config) {
        self.unknown_sessions = config.options.local_sessions;
    }

    fn said(&mut self, view: View<'_>, key: Key, said: &Said<'_>) -> Result<(), String> {
        if said.name() == &*self.begins {
            return self.begin(view, key, said);
        }
        if let Some(all) = self.held.get_mut(&key) {
            all.remove(&said.client());
            self.held.retain(|_, all| !all.is_empty());
        }
        Ok(())
    }

    fn concerns(&self, event: &Event) -> bool {
        match event {
            Event::Session { state, .. } => {
                matches!(state, SessionState::SyncConnected | SessionState::Expired)
            }
            Event::Observed { .. }
            | Event::LearnsOfEnd { .. }
            | Event::Started { .. }
            | Event::Killed { .. }
            | Event::Finished { .. }
            | Event::Panicked { .. } => true,
            _ => self.is_guarded(event),
        }
    }

    /// Beliefs of different clients are compared, so their ends matter if the client has any. Which clients were
    /// notified of the end of their session is recorded for each client alone.
    fn minds(&self, event: &Event) -> bool {
        match event {
            Event::Observed { client, session, .. } => self.holds_by_an_older(*client, *session),
            Event::LearnsOfEnd { client, over } => self.holds_by(*client, *over),
            Event::Started { client }
            | Event::Killed { client }
            | Event::Finished { client, .. }
            | Event::Panicked { client, .. } => self.holds(*client),
            Event::Session { client, session, state: SessionState::SyncConnected, .. } => {
                self.ends_with_session && self.holds_by_an_older(*client, *session)
            }
            Event::Session { .. } => false,
            _ => true,
        }
    }

    fn event(&mut self, view: View<'_>, event: &Event) -> Result<(), String> {
        match event {
            Event::Observed { client, session: Some(session), .. } => {
                let is_about = Said::of(event).is_some_and(|said| self.is_about(&said));
                if is_about { Ok(()) } else { self.goes_on(view, *client, *session) }
            }
            Event::LearnsOfEnd { client, over } => {
                self.knows(view, *client, &|held| held.is_by(*over))
            }
            Event::Session { client, state: SessionState::Expired, .. } => {
                self.told.insert(*client);
                Ok(())
            }
            Event::Session { client, session, state: SessionState::SyncConnected, .. } => {
                self.told.remove(client);
                match session.filter(|_| self.ends_with_session) {
                    Some(session) => self.goes_on(view, *client, session),
                    None => Ok(()),
                }
            }
            Event::Started { client }
            | Event::Killed { client }
            | Event::Finished { client, .. }
            | Event::Panicked { client, .. } => {
                self.told.remove(client);
                self.end_of(*client);
                Ok(())
            }
            Event::ResourceWrite { client, token, accepted: true, .. } => {
                self.accepts(*client, *token)
            }
            _ => Ok(()),
        }
    }
}
