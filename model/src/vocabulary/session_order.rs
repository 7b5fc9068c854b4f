//! Which of two session ids is the larger, at the service grain.
//!
//! A server puts its own id into the highest byte of the sessions that it issues (rule 2.2.1). So of the ids of two
//! clients either can be the larger, and a client's later session can have a smaller id than its earlier one. At the
//! service grain no server issues sessions: a [`SessionOrder`] says how their ids are ordered.

use crate::vocabulary::id::{ClientId, SessionId};
use serde::{Deserialize, Serialize};
use std::fmt;

/// How session ids are ordered. The [default](SessionOrder::default) is by client, later ones above earlier ones.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SessionOrder {
    /// The clients, that with the smallest ids first. Empty for the order of their own numbers.
    clients: Vec<ClientId>,
    later: Later,
}

/// Where a client's later sessions stand.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
enum Later {
    /// Above its earlier ones, below those of the next client.
    #[default]
    AboveOwn,
    /// Below its earlier ones, above those of the client before.
    BelowOwn,
    /// Above all earlier ones of any client.
    AboveAll,
    /// Below all earlier ones of any client.
    BelowAll,
}

const LATER: [Later; 4] = [Later::AboveOwn, Later::BelowOwn, Later::AboveAll, Later::BelowAll];

impl SessionOrder {
    /// The orders of the sessions of `clients` clients, the default first. Of any two sessions, of one client or of two,
    /// each is the larger in some of them. They are not all orders of three sessions or more.
    pub fn all(clients: u8) -> impl Iterator<Item = SessionOrder> {
        (0..SessionOrder::count(clients)).map(move |at| SessionOrder::nth(clients, at))
    }

    /// How many orders [`SessionOrder::all`] gives.
    pub fn count(clients: u8) -> usize {
        (1..=usize::from(clients)).product::<usize>() * LATER.len()
    }

    /// One of them, from 0.
    pub fn nth(clients: u8, at: usize) -> SessionOrder {
        let own: Vec<ClientId> = ClientId::first(clients).collect();
        let clients = permutation(&own, at / LATER.len());
        let clients = if clients == own { Vec::new() } else { clients };
        SessionOrder { clients, later: LATER[at % LATER.len()] }
    }

    /// Whether it is that of a configuration that says nothing of it.
    pub fn is_default(&self) -> bool {
        *self == SessionOrder::default()
    }

    /// The id of the `number`th session of a client, from 1.
    ///
    /// In any order but the default the client stands in the fifth byte, and the last bit is another one: a program that
    /// goes by whether an id is even is to meet both.
    pub fn session(&self, client: ClientId, number: u32) -> SessionId {
        if self.is_default() {
            return SessionId(u64::from(client.0) << 56 | 1 << 32 | u64::from(number));
        }
        let at = self.clients.iter().position(|other| *other == client);
        let place = at.map_or(u64::from(client.0), |at| at as u64 + 1);
        let up = u64::from(number);
        let (first, second) = match self.later {
            Later::AboveOwn => (place, up),
            Later::BelowOwn => (place, 0xffff - up),
            Later::AboveAll => (up, place),
            Later::BelowAll => (0x7f - up % 0x7f, place),
        };
        let client = u64::from(client.0);
        SessionId(first << 56 | (second & 0xffff) << 40 | client << 24 | up << 1)
    }
}

impl SessionId {
    /// Whose session it is, at the service grain.
    pub fn client(self) -> ClientId {
        match (self.0 >> 24) as u8 {
            0 => ClientId((self.0 >> 56) as u16),
            client => ClientId(client.into()),
        }
    }
}

/// One of the orders of these clients, counted from 0 in lexicographic order.
fn permutation(clients: &[ClientId], mut number: usize) -> Vec<ClientId> {
    let mut left = clients.to_vec();
    let mut ordered = Vec::new();
    while !left.is_empty() {
        let of_the_rest: usize = (1..left.len()).product();
        ordered.push(left.remove(number / of_the_rest));
        number %= of_the_rest;
    }
    ordered
}

impl fmt::Display for SessionOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.clients.is_empty() {
            f.write_str("session ids in the order of the clients, ")?;
        } else {
            let names: Vec<String> = self.clients.iter().map(|id| id.0.to_string()).collect();
            write!(f, "session ids in the order of clients {}, ", names.join(", "))?;
        }
        f.write_str(match self.later {
            Later::AboveOwn => "a client's later ones above its earlier ones",
            Later::BelowOwn => "a client's later ones below its earlier ones",
            Later::AboveAll => "later ones above all earlier ones",
            Later::BelowAll => "later ones below all earlier ones",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn of_any_two_sessions_each_is_the_larger_in_some_order() {
        for clients in 1..=4 {
            let orders: Vec<SessionOrder> = SessionOrder::all(clients).collect();
            assert!(orders[0].is_default());
            assert_eq!(BTreeSet::from_iter(&orders).len(), SessionOrder::count(clients));
            let sessions = || {
                let of = |client| (1..=3).map(move |number| (ClientId(client), number));
                (1..=u16::from(clients)).flat_map(of)
            };
            for (one, other) in sessions().flat_map(|one| sessions().map(move |other| (one, other)))
            {
                let is_larger = |order: &&SessionOrder| {
                    order.session(one.0, one.1) > order.session(other.0, other.1)
                };
                assert_eq!(orders.iter().any(|order| is_larger(&order)), one != other);
            }
            assert!(orders.iter().all(|order| {
                let reversed = orders.iter().find(|other| {
                    let both = |it: &SessionOrder, client| it.session(ClientId(client), 1);
                    (2..=u16::from(clients)).all(|client| {
                        (both(order, 1) < both(order, client))
                            != (both(other, 1) < both(other, client))
                    })
                });
                reversed.is_some()
            }));
            for order in &orders {
                let mut all: Vec<SessionId> =
                    sessions().map(|(client, number)| order.session(client, number)).collect();
                assert!(sessions().zip(&all).all(|((client, _), id)| id.client() == client));
                all.sort();
                all.dedup();
                assert_eq!(all.len(), usize::from(clients) * 3, "{order}");
            }
        }
    }

    #[test]
    fn ids_have_equally_many_digits() {
        for order in SessionOrder::all(3) {
            let digits = |session: SessionId| session.to_string().len();
            let all = (1..=9).map(|number| digits(order.session(ClientId(2), number)));
            assert!(all.clone().all(|digits| digits == 17 || digits == 18), "{order}");
        }
    }
}
