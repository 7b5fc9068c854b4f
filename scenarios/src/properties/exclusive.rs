//! Never two at once: between an observation that begins something and one that ends it nobody else
//! is between them.
//!
//! What is judged is what programs *believe*. No algorithm keeps two beliefs from overlapping: a program
//! learns that its session is over only after ZooKeeper has decided so, a paused one later still. So
//! unless it is [`strict`](Property::strictly), of two holders one may have a session that is over in
//! the committed history (a *zombie*). Where grants carry fencing tokens it must be the one with the
//! smaller token. The excuse ends when the program knows, or shows that it knows: behind any answer of its handle that
//! says so (SessionExpired, the end of a watch, a connection by another session) and what it does about that at once, and
//! when it says anything at all in another session.
//!
//! A belief ends with the process that has it: one that was killed believes nothing any more, though its
//! ephemeral znode stands until its session ends (who is granted while that stands is the business of
//! a [`tree_always`](super::tree_always())). A client that is paused goes on believing.

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

/// See [`never_two_at_once`].
#[derive(Clone, Hash)]
pub struct Exclusive {
    begins: Arc<str>,
    ends: Arc<str>,
    strict: bool,
    ends_with_session: bool,
    token: Option<Arc<str>>,
    guards: Option<Arc<str>>,
    /// Sessions can be local, so that the history does not know them: nothing is excused.
    unknown_sessions: bool,
    /// By key and client: each has one belief at most.
    held: BTreeMap<Key, BTreeMap<ClientId, Held>>,
    /// Whose session has expired, as they were told.
    told: BTreeSet<ClientId>,
    /// The largest token granted.
    largest: BTreeMap<Key, (Datum, Arc<str>)>,
    /// The largest token that the guarded resource accepted, and whose it was.
    accepted: Option<(Zxid, ClientId)>,
}

/// A belief.
#[derive(Clone, Hash)]
struct Held {
    /// Of its client when it began. None if that was told of its end before, or had none yet.
    session: Option<SessionId>,
    /// None, and its client had been told of its end.
    had_expired: bool,
    /// Its program goes on in another session.
    knows: bool,
    token: Option<Datum>,
    /// What was said.
    words: Arc<str>,
}

/// Never are two between saying `begins` and saying `ends`; [per](Property::per) a field, say that of the
/// path, never two with the same value.
///
/// Both engines; judged when somebody says `begins`, and when a holder shows that it knows that its
/// session is over. See there for [`strictly`](Property::strictly), [`token`](Property::token),
/// [`guarding`](Property::guarding) and [`ending_with_session`](Property::ending_with_session). A program
/// ends its beliefs when it returns, fails or is killed. One client that says `begins` twice is two
/// (unless its session ended in between), and `ends` of one who does not hold is nothing.
///
/// A program says `begins` as soon as it holds, for its session is the one that its client has at that
/// moment; and `ends` before it gives back what it holds, for behind that another one may hold already.
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
    /// Excuses nothing, not even a session that is over. No lock over ZooKeeper can promise this where
    /// sessions expire; what is held by persistent znodes can.
    #[must_use]
    pub fn strictly(mut self) -> Self {
        self.rule.strict = true;
        self
    }

    /// Each grant carries a fencing token in this field, such as the czxid of its znode: a zxid or
    /// a number. Each is larger than all before (with the same key), but for those of zombies; and of two
    /// holders the one with the smaller token is the zombie.
    #[must_use]
    pub fn token(mut self, field: &str) -> Self {
        self.rule.token = Some(Arc::from(field));
        self
    }

    /// This outside resource ([`ZooKeeper::write_resource`](crate::prelude::ZooKeeper::write_resource))
    /// accepts no write without a token, and none with a smaller one than it has accepted.
    #[must_use]
    pub fn guarding(mut self, resource: &str) -> Self {
        self.rule.guards = Some(Arc::from(resource));
        self
    }

    /// A belief must have ended before its client is connected by another session: nobody is excused any
    /// longer than that, whether its program says something or not. Not for programs that wait in
    /// `connect` while they hold: their client begins the new session before they hear of it.
    #[must_use]
    pub fn ending_with_session(mut self) -> Self {
        self.rule.ends_with_session = true;
        self
    }
}

impl Held {
    /// Whether it began in another session than this, which its client has now.
    fn is_older_than(&self, session: SessionId) -> bool {
        self.session.map_or(self.had_expired, |own| own != session)
    }

    /// Whether it began in a session that is over.
    fn is_by(&self, over: Over) -> bool {
        self.session.map_or(self.had_expired, |own| over.includes(own))
    }
}

impl Exclusive {
    /// Whether a holder is excused: its session is over, and it does not know.
    fn is_zombie(&self, view: View<'_>, held: &Held) -> bool {
        let is_over = |session: SessionId| !view.history.tree().sessions().contains_key(&session);
        let excuses = !self.strict && !self.unknown_sessions && !held.knows;
        excuses && held.session.map_or(held.had_expired, is_over)
    }

    /// Whether two may both believe.
    fn may_overlap(&self, view: View<'_>, one: &Held, other: &Held) -> Result<bool, String> {
        if let (Some(token), Some(others)) = (&one.token, &other.token) {
            let is_smaller = token.compare(others)?.is_lt();
            return Ok(self.is_zombie(view, if is_smaller { one } else { other }));
        }
        Ok(self.is_zombie(view, one) || self.is_zombie(view, other))
    }

    /// What is wrong about what a client holds, if others hold the same.
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
                "and one of them holds by a session that is over, as its program was told"
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
        // Who is granted another one in a new session knows of the end of the old one, too.
        said.session().map_or(Ok(()), |session| self.goes_on(view, client, session))
    }

    /// Tokens grow, but for those of zombies.
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

    /// A client goes on in this session: what it holds by another one it knows to be over.
    fn goes_on(
        &mut self,
        view: View<'_>,
        client: ClientId,
        session: SessionId,
    ) -> Result<(), String> {
        self.knows(view, client, &|held| held.is_older_than(session))
    }

    /// A client's program knows that the session of some of its beliefs is over.
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

    /// Whether it holds anything by another session than this.
    fn holds_by_an_older(&self, client: ClientId, session: Option<SessionId>) -> bool {
        let mut held = self.held.values().filter_map(|all| all.get(&client));
        session.is_some_and(|session| held.any(|held| held.is_older_than(session)))
    }

    /// Whether it holds anything by a session that is over.
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

    /// At which sessions are open. That the order of a grant and of the commit which closes a session
    /// matters need not be said: both are steps that a search tries in every order.
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

    /// Beliefs are compared with each other, so their ends count where there are any; who was told of the
    /// end of its session is an account of that client's.
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
