//! Each property compared with a plain reference, which examines the whole run anew at each event, and shares no code
//! with the property.

use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use vivarium::prelude::*;
use vivarium_model::config::Config;
use vivarium_model::event::Event;
use vivarium_model::history::History;
use vivarium_model::id::{ServerId, Xid};
use vivarium_model::observation::Observed;
use vivarium_model::path::ZnodePath;
use vivarium_model::tree::EphemeralType;
use vivarium_model::txn::{Txn, TxnBody};
use vivarium_model::zxid::Epoch;

const CLIENTS: u16 = 3;

/// An act; the values are small, so that conflicts are frequent.
#[derive(Clone, Copy, Debug)]
enum Happens {
    /// A client makes one of three observations, with two small numbers.
    Says {
        client: u16,
        name: u8,
        at: i64,
        to: i64,
    },
    /// A client's session is closed in the history.
    Closed(u16),
    /// The client learns of it.
    Told(u16),
    /// The client has a new session.
    Connected(u16),
    Killed(u16),
    Paused(u16),
    /// A znode is created or deleted.
    Toggles(u8),
}

/// The state when something happens.
#[derive(Clone, Debug)]
struct Moment {
    event: Event,
    /// The history; its last transaction may be new with this event.
    history: History,
    is_new: bool,
}

fn happens() -> impl Strategy<Value = Happens> {
    let client = 1..=CLIENTS;
    let says = (client.clone(), 0u8..3, 0i64..2, 0i64..4)
        .prop_map(|(client, name, at, to)| Happens::Says { client, name, at, to });
    prop_oneof![
        8 => says,
        1 => client.clone().prop_map(Happens::Closed),
        1 => client.clone().prop_map(Happens::Told),
        1 => client.clone().prop_map(Happens::Connected),
        1 => client.clone().prop_map(Happens::Killed),
        1 => client.prop_map(Happens::Paused),
        1 => (0u8..2).prop_map(Happens::Toggles),
    ]
}

/// The events of a run in which these acts happen.
struct Run {
    history: History,
    moments: Vec<Moment>,
    sessions: BTreeMap<ClientId, Option<SessionId>>,
    made: u64,
}

impl Run {
    fn of(all: &[Happens]) -> Vec<Moment> {
        let (history, moments) = (History::new(), Vec::new());
        let mut run = Run { history, moments, sessions: BTreeMap::new(), made: 0 };
        (1..=CLIENTS).for_each(|client| run.connect(ClientId(client)));
        all.iter().for_each(|happens| run.happen(*happens));
        run.moments
    }

    fn push(&mut self, event: Event, is_new: bool) {
        self.moments.push(Moment { event, history: self.history.clone(), is_new });
    }

    fn commit(&mut self, session: SessionId, body: TxnBody) {
        let counter = self.history.last().counter() + 1;
        let zxid = Zxid::new(Epoch(1), counter);
        let txn = Arc::new(Txn { zxid, session, cxid: Xid(0), time: 0, body });
        self.history.commit(Arc::clone(&txn));
        let event = Event::Committed { leader: ServerId(1), txn };
        self.push(event.clone(), true);
        // The same transaction is reported again, as by another leader.
        self.push(event, false);
    }

    fn connect(&mut self, client: ClientId) {
        self.made += 1;
        let session = SessionId(self.made);
        self.commit(session, TxnBody::CreateSession { timeout: Duration::from_secs(6) });
        self.sessions.insert(client, Some(session));
        let (session, state) = (Some(session), SessionState::SyncConnected);
        self.push(Event::Session { client, session, server: None, state }, false);
    }

    fn happen(&mut self, happens: Happens) {
        match happens {
            Happens::Says { client, name, at, to } => {
                let client = ClientId(client);
                let name = ["begins", "ends", "else"][usize::from(name)];
                let fields = [("at", at.into()), ("to", to.into())];
                let observation = Observed::new(Custom::new(name, &fields));
                let session = self.sessions[&client];
                self.push(
                    Event::Observed { client, session, next_xid: Xid(1), observation },
                    false,
                );
            }
            Happens::Closed(client) => {
                let session = self.sessions[&ClientId(client)];
                let is_open = |id: &SessionId| self.history.tree().sessions().contains_key(id);
                if let Some(session) = session.filter(is_open) {
                    self.commit(session, TxnBody::CloseSession { ephemerals: Vec::new() });
                }
            }
            Happens::Told(client) => {
                self.happen(Happens::Closed(client));
                let client = ClientId(client);
                let session = self.sessions.insert(client, None).flatten();
                if session.is_some() {
                    let state = SessionState::Expired;
                    self.push(Event::Session { client, session, server: None, state }, false);
                }
            }
            Happens::Connected(client) => {
                self.happen(Happens::Told(client));
                self.connect(ClientId(client));
            }
            Happens::Killed(client) => self.push(Event::Killed { client: ClientId(client) }, false),
            Happens::Paused(client) => self.push(Event::Paused { client: ClientId(client) }, false),
            Happens::Toggles(name) => {
                let path = ZnodePath::new(format!("/{name}")).expect("a path");
                let body = match self.history.tree().node(&path) {
                    Some(_) => TxnBody::Delete { path },
                    None => {
                        let root = self.history.tree().node("/").expect("it stands");
                        TxnBody::create(path, [], EphemeralType::Void, root.cversion + 1)
                    }
                };
                self.commit(SessionId(1), body);
            }
        }
    }
}

/// Returns the moment at which a monitor first objects, if it does; `moments.len()` is the end. Like the engines, it
/// passes only events that concern the monitor, and sometimes copies the monitor.
fn first_objection(monitor: impl Monitor + 'static, moments: &[Moment]) -> Option<usize> {
    let mut monitor: Box<dyn Monitor> = Box::new(monitor);
    monitor.begin(&Arc::new(Config::new(1, CLIENTS as u8)));
    for (at, moment) in moments.iter().enumerate() {
        let view = if moment.is_new { View::of_new } else { View::new };
        let view = view(Time::ZERO, &moment.history).within(monitor.looks_back());
        if monitor.concerns(&moment.event) && monitor.event(view, &moment.event).is_err() {
            return Some(at);
        }
        monitor = monitor.clone();
    }
    let history = &moments.last().expect("they connect").history;
    let view = View::new(Time::ZERO, history).within(LooksBack::Tip);
    monitor.end(view).is_err().then_some(moments.len())
}

/// Returns the number of the first prefix of the moments that is wrong.
fn reference(moments: &[Moment], wrong: impl Fn(&[Moment]) -> bool) -> Option<usize> {
    (0..moments.len()).find(|at| wrong(&moments[..=*at]))
}

/// Returns the observations with this name: place, client, `at` and `to`.
fn said(moments: &[Moment], wanted: &str) -> Vec<(usize, ClientId, i64, i64)> {
    let said = |(place, moment): (usize, &Moment)| match moment.event.observed() {
        Some((client, Custom { name, fields })) if &**name == wanted => {
            let [(_, Value::Number(at)), (_, Value::Number(to))] = fields[..] else { panic!() };
            Some((place, client, at as i64, to as i64))
        }
        _ => None,
    };
    moments.iter().enumerate().filter_map(said).collect()
}

/// Returns the first field of an observation.
fn at(observation: &Observed) -> i64 {
    match observation.fields() {
        Ok([(_, Value::Number(at)), _]) => *at as i64,
        other => panic!("{other:?}"),
    }
}

/// A belief: where it began, its client, its session (if it had one), its key and its token.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Belief {
    place: usize,
    client: ClientId,
    session: Option<SessionId>,
    at: i64,
    token: i64,
}

/// Returns true if a belief still exists after the last of these moments.
fn lasts(belief: &Belief, moments: &[Moment]) -> bool {
    moments[belief.place + 1..].iter().all(|moment| match &moment.event {
        Event::Killed { client } => *client != belief.client,
        Event::Observed { client, observation, .. } => {
            let ended = observation.name() == "ends" && at(observation) == belief.at;
            *client != belief.client || !ended
        }
        _ => true,
    })
}

/// Returns true if the client has since made an observation in another session, other than `begins` or `ends` of this
/// key, or `ends` of another one.
fn shows_that_it_knows(belief: &Belief, moments: &[Moment]) -> bool {
    moments[belief.place + 1..].iter().any(|moment| match &moment.event {
        Event::Observed { client, session: Some(session), observation, .. } => {
            let own = at(observation) == belief.at;
            let shows = match observation.name() {
                "begins" => !own,
                "ends" => false,
                _ => true,
            };
            let older = belief.session.is_some() || had_expired(belief, moments);
            *client == belief.client && belief.session != Some(*session) && older && shows
        }
        _ => false,
    })
}

/// Returns true if the client's last session event before the belief was an expiry. A process without session events
/// has lost no session.
fn had_expired(belief: &Belief, moments: &[Moment]) -> bool {
    let news = moments[..belief.place].iter().rev().find_map(|moment| match &moment.event {
        Event::Session { client, state, .. } if *client == belief.client => Some(*state),
        Event::Killed { client } if *client == belief.client => Some(SessionState::Closed),
        _ => None,
    });
    news == Some(SessionState::Expired)
}

fn is_zombie(belief: &Belief, moments: &[Moment], strict: bool) -> bool {
    let open = moments.last().expect("some").history.tree().sessions();
    let is_over = match belief.session {
        Some(session) => !open.contains_key(&session),
        None => had_expired(belief, moments),
    };
    !strict && is_over && !shows_that_it_knows(belief, moments)
}

/// Returns true if two clients hold at the same time after the last moment.
fn two_at_once(moments: &[Moment], strict: bool, tokens: bool) -> bool {
    let begun = said(moments, "begins").into_iter().map(|(place, client, at, token)| {
        let Event::Observed { session, .. } = moments[place].event else { panic!() };
        Belief { place, client, session, at, token }
    });
    let all: Vec<Belief> = begun.collect();
    let (now, last) = (moments.len() - 1, moments.last().expect("some"));
    let Event::Observed { client: speaker, .. } = last.event else { return false };
    // Of one client's beliefs under one key only the last counts.
    let is_last = |one: &Belief| {
        let same = |other: &&Belief| other.client == one.client && other.at == one.at;
        all.iter().filter(same).all(|other| other.place <= one.place)
    };
    let held = |one: &&Belief| lasts(one, moments) && is_last(one);
    let held: Vec<Belief> = all.iter().filter(held).copied().collect();
    for new in all.iter().filter(|belief| belief.place == now) {
        let before = &moments[..now];
        let own = all.iter().filter(|old| old.place < now && old.client == new.client);
        let own =
            own.filter(|old| old.at == new.at && lasts(old, before)).max_by_key(|old| old.place);
        if own.is_some_and(|old| old.session == new.session || !is_zombie(old, moments, strict)) {
            return true;
        }
        let earlier = all.iter().filter(|old| old.place < now && old.at == new.at);
        let largest = earlier.map(|old| old.token).max();
        let grows = largest.is_none_or(|largest| new.token > largest);
        let is_excused =
            largest.is_some_and(|largest| new.token < largest) && is_zombie(new, moments, strict);
        if tokens && !grows && !is_excused {
            return true;
        }
    }
    held.iter().any(|one| {
        let others = held.iter().filter(|other| other.client != one.client && other.at == one.at);
        let mine = one.client == speaker
            && (one.place == now
                || shows_that_it_knows(one, moments) && !shows_that_it_knows(one, &moments[..now]));
        mine && others.into_iter().any(|other| {
            let (smaller, larger) =
                if one.token < other.token { (one, other) } else { (other, one) };
            !match tokens && smaller.token != larger.token {
                true => is_zombie(smaller, moments, strict),
                false => is_zombie(one, moments, strict) || is_zombie(other, moments, strict),
            }
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn never_two(all in prop::collection::vec(happens(), 0..14), strict: bool, tokens: bool) {
        let moments = Run::of(&all);
        let monitor = never_two_at_once("begins", "ends").per("at");
        let monitor = if strict { monitor.strictly() } else { monitor };
        let monitor = if tokens { monitor.token("to") } else { monitor };
        let expected = reference(&moments, |prefix| two_at_once(prefix, strict, tokens));
        prop_assert_eq!(first_objection(monitor, &moments), expected);
    }

    #[test]
    fn always_a_sum(all in prop::collection::vec(happens(), 0..14)) {
        let moments = Run::of(&all);
        let fold = |sum: &mut i64, said: &Said<'_>| {
            *sum += said.number("to")?;
            Ok(*sum <= 5)
        };
        let monitor = always("sum", 0, fold).on("begins").on("else").per("at").by([ClientId(1), ClientId(2)]);
        let expected = reference(&moments, |prefix| (0..2).any(|key| {
            let all = [said(prefix, "begins"), said(prefix, "else")].concat();
            let taken = all.iter().filter(|(_, client, at, _)| client.0 < 3 && *at == key);
            taken.map(|(.., to)| to).sum::<i64>() > 5
        }));
        prop_assert_eq!(first_objection(monitor, &moments), expected);
    }

    #[test]
    fn always_of_the_tree(all in prop::collection::vec(happens(), 0..14)) {
        let moments = Run::of(&all);
        let monitor = always("gone", 0, |count, _: &Said<'_>| {
            *count += 1;
            true
        });
        let monitor = monitor.on("else").and_tree(|count: &i64, tree| *count < 1 || !tree.has("/1"));
        let stands = |prefix: &[Moment]| prefix.last().expect("some").history.tree().node("/1").is_some();
        let expected = reference(&moments, |prefix| !said(prefix, "else").is_empty() && stands(prefix));
        prop_assert_eq!(first_objection(monitor, &moments), expected);
        let expected = reference(&moments, stands);
        prop_assert_eq!(first_objection(tree_always("gone", |tree| !tree.has("/1")), &moments), expected);
        let ghost = moments.last().expect("some").history.tree().nodes().any(|(path, _)| path.as_str().len() == 2);
        let monitor = no_ghosts_under("/").but_for(|path| path.starts_with("/zookeeper"));
        prop_assert_eq!(first_objection(monitor, &moments), ghost.then_some(moments.len()));
    }

    #[test]
    fn once(all in prop::collection::vec(happens(), 0..14), keyed: bool) {
        let moments = Run::of(&all);
        let key = |at: i64| if keyed { at } else { 0 };
        let doubled = |prefix: &[Moment]| {
            let all = said(prefix, "begins");
            let same = |one: &(usize, ClientId, i64, i64), other: &(usize, ClientId, i64, i64)| {
                one.0 < other.0 && one.3 == other.3 && key(one.2) == key(other.2)
            };
            all.iter().any(|one| all.iter().any(|other| same(one, other)))
        };
        let expected = reference(&moments, doubled);
        let at_most = at_most_once("begins", "to");
        let at_most = if keyed { at_most.per("at") } else { at_most };
        prop_assert_eq!(first_objection(at_most, &moments), expected);
        let exactly = exactly_once("begins", "to").announced_by("else");
        let exactly = if keyed { exactly.per("at") } else { exactly };
        let done = said(&moments, "begins");
        let missing = said(&moments, "else").iter().any(|due| {
            done.iter().all(|one| one.3 != due.3 || key(one.2) != key(due.2))
        });
        let expected = expected.or(missing.then_some(moments.len()));
        prop_assert_eq!(first_objection(exactly, &moments), expected);
        let listed = exactly_once("begins", "to").among([0, 2]);
        let doubled = reference(&moments, |prefix| {
            let all = said(prefix, "begins");
            (0..4).any(|to| all.iter().filter(|one| one.3 == to).count() > 1)
        });
        let missing = [0, 2].iter().any(|to| done.iter().all(|one| one.3 != *to));
        let expected = doubled.or(missing.then_some(moments.len()));
        prop_assert_eq!(first_objection(listed, &moments), expected);
    }

    #[test]
    fn in_the_end(all in prop::collection::vec(happens(), 0..14)) {
        let moments = Run::of(&all);
        let who = |at: i64| {
            let said = said(&moments, "ends");
            let who: std::collections::BTreeSet<u16> =
                said.iter().filter(|one| one.2 == at).map(|one| one.1.0).collect();
            who
        };
        let end = Some(moments.len());
        let monitor = || eventually("ends").with("at", 1);
        prop_assert_eq!(first_objection(monitor(), &moments), end.filter(|_| who(1).is_empty()));
        let expected = end.filter(|_| who(1).len() < 3);
        prop_assert_eq!(first_objection(monitor().by_every_client(), &moments), expected);
        let monitor = monitor().by([ClientId(2)]).by_every_client();
        prop_assert_eq!(first_objection(monitor, &moments), end.filter(|_| !who(1).contains(&2)));
    }

    #[test]
    fn orders(all in prop::collection::vec(happens(), 0..14), stays: bool, own: bool) {
        let moments = Run::of(&all);
        let key = |one: &(usize, ClientId, i64, i64)| if own { (one.1.0, one.2) } else { (0, one.2) };
        let expected = reference(&moments, |prefix| {
            let all = said(prefix, "begins");
            let bad = |one: &(usize, ClientId, i64, i64), next: &(usize, ClientId, i64, i64)| {
                let shrinks = next.3 < one.3 || next.3 == one.3 && !stays;
                one.0 < next.0 && key(one) == key(next) && shrinks
            };
            all.iter().any(|one| all.iter().any(|next| bad(one, next)))
        });
        let monitor = grows("begins", "to").per("at");
        let monitor = if stays { monitor.or_stays() } else { monitor };
        let monitor = if own { monitor.per_client() } else { monitor };
        prop_assert_eq!(first_objection(monitor, &moments), expected);

        // First `begins`, then `ends`, in the order of the observations.
        let expected = reference(&moments, |prefix| {
            let (first, then) = (said(prefix, "begins"), said(prefix, "ends"));
            let place = |one: &(usize, ClientId, i64, i64)| {
                first.iter().filter(|other| other.3 == one.3 && key(other) == key(one)).map(|other| other.0).min()
            };
            then.iter().any(|one| then.iter().any(|next| {
                let places = (place(one), place(next));
                let known = places.0.is_some() && places.1.is_some();
                one.0 < next.0 && key(one) == key(next) && known && places.0 > places.1
            }))
        });
        let monitor = same_order("begins", "ends", "to").per("at");
        let monitor = if own { monitor.per_client() } else { monitor };
        prop_assert_eq!(first_objection(monitor, &moments), expected);

        let expected = reference(&moments, |prefix| {
            let all = said(prefix, "else");
            all.iter().any(|one| all.iter().any(|other| key(one) == key(other) && one.3 != other.3))
        });
        let monitor = agree("else", "to").per("at");
        let monitor = if own { monitor.per_client() } else { monitor };
        prop_assert_eq!(first_objection(monitor, &moments), expected);
    }
}
