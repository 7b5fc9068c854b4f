//! The order of session ids at the service grain.
//!
//! A server puts its own id into the highest byte of the session ids that it issues (rule 2.2.1). So either of two
//! clients can have the larger session id, and a client's later session can have a smaller id than its earlier one.
//! At the service grain no server issues sessions; a [`SessionOrder`] defines the order of their ids.

use crate::vocabulary::id::{ClientId, SessionId};
use serde::{Deserialize, Serialize};
use std::fmt;

/// An order of session ids. By [default](SessionOrder::default), ids are ordered by client number, then by age.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SessionOrder {
    /// The clients, ordered by their session ids, smallest first. Empty for the order of client numbers.
    clients: Vec<ClientId>,
    later: Later,
}

/// The place of a client's later sessions in the order.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
enum Later {
    /// Larger than the client's earlier ones, smaller than those of the next client.
    #[default]
    AboveOwn,
    /// Smaller than the client's earlier ones, larger than those of the previous client.
    BelowOwn,
    /// Larger than all earlier sessions of any client.
    AboveAll,
    /// Smaller than all earlier sessions of any client.
    BelowAll,
}

const LATER: [Later; 4] = [Later::AboveOwn, Later::BelowOwn, Later::AboveAll, Later::BelowAll];

impl SessionOrder {
    /// Returns all orders that the model can express for `clients` clients, the default first. For any two sessions,
    /// of one client or of two, each is the larger in some of these orders. They do not include every order of three
    /// or more sessions.
    pub fn all(clients: u8) -> impl Iterator<Item = SessionOrder> {
        (0..SessionOrder::count(clients)).map(move |at| SessionOrder::nth(clients, at))
    }

    /// Returns the number of orders in [`SessionOrder::all`].
    pub fn count(clients: u8) -> usize {
        (1..=usize::from(clients)).product::<usize>() * LATER.len()
    }

    /// Returns the order at this index of [`SessionOrder::all`].
    pub fn nth(clients: u8, at: usize) -> SessionOrder {
        let own: Vec<ClientId> = ClientId::first(clients).collect();
        let clients = permutation(&own, at / LATER.len());
        let clients = if clients == own { Vec::new() } else { clients };
        SessionOrder { clients, later: LATER[at % LATER.len()] }
    }

    /// Returns true for the default order.
    pub fn is_default(&self) -> bool {
        *self == SessionOrder::default()
    }

    /// Returns the id of the `number`th session of a client, from 1.
    ///
    /// In any order but the default, the client's number is in the fifth byte and the lowest bit is always 0. The
    /// default has both even and odd ids, so a program that depends on the parity of its id meets both.
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
    /// Returns the client of this session, at the service grain.
    pub fn client(self) -> ClientId {
        match (self.0 >> 24) as u8 {
            0 => ClientId((self.0 >> 56) as u16),
            client => ClientId(client.into()),
        }
    }
}

/// Returns the permutation of `clients` with this number, from 0 in lexicographic order.
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
    fn each_of_any_two_sessions_is_the_larger_in_some_order() {
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
