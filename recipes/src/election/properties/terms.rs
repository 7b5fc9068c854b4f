//! E3: the terms of the leaders that one observer receives in one session grow, as long as its program lives.

use crate::election::ElectionSeen;
use std::collections::BTreeMap;
use std::sync::Arc;
use vivarium_model::event::Event;
use vivarium_model::id::{ClientId, SessionId};
use vivarium_model::minds;
use vivarium_model::property::{Declaration, Declared, LooksBack, Objection};
use vivarium_model::zxid::Zxid;

/// See the module.
#[derive(Clone, Debug, Hash)]
pub struct Terms {
    election: Arc<str>,
    /// The last term, by observer and session.
    last: BTreeMap<(ClientId, Option<SessionId>), Zxid>,
}

impl Terms {
    /// Watches the election in this directory.
    pub fn new(directory: &str) -> Terms {
        Terms { election: directory.into(), last: BTreeMap::new() }
    }
}

impl Declared for Terms {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "election E3 terms",
        LooksBack::Nothing,
        minds! { |this, view, event|
            // Each client has its own record, so the order among clients does not matter.
            #[unordered]
            Event::Killed { client } | Event::Started { client } => this.last.retain(|(other, _), _| other != client),
            #[unordered]
            Observed(client in session, ElectionSeen::Follows { election, term })
                if *election == this.election =>
            {
                this.follows(client, session, *term)
            },
        },
    );
}

impl Terms {
    fn follows(
        &mut self,
        client: ClientId,
        session: Option<SessionId>,
        term: Zxid,
    ) -> Result<(), Objection> {
        let last = self.last.insert((client, session), term);
        match last.filter(|last| term <= *last) {
            None => Ok(()),
            Some(last) => {
                let saw = format!("{client} learned of term {term} after term {last}");
                Err(self.objection(saw))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vivarium_model::history::History;
    use vivarium_model::id::Xid;
    use vivarium_model::observation::Observed;
    use vivarium_model::property::Monitor;
    use vivarium_model::property::View;
    use vivarium_model::time::Time;

    fn told(terms: &[(u8, u64)]) -> Option<String> {
        let (mut monitor, history) = (Terms::new("/election"), History::new());
        let view = View::new(Time::ZERO, &history);
        terms.iter().find_map(|(client, term)| {
            let seen = ElectionSeen::Follows { election: "/election".into(), term: Zxid(*term) };
            let event = Event::Observed {
                client: ClientId((*client).into()),
                session: None,
                next_xid: Xid(1),
                observation: Observed::new(seen),
            };
            monitor.event(view, &event).err().map(|objection| objection.to_string())
        })
    }

    #[test]
    fn a_term_that_is_told_again_is_refused() {
        assert_eq!(told(&[(1, 4), (2, 4), (1, 7), (2, 5)]), None);
        insta::assert_snapshot!(told(&[(1, 4), (2, 9), (1, 4)]).unwrap_or_default(), @"election E3 terms: client 1 learned of term 0:4 after term 0:4");
        assert!(told(&[(1, 4), (1, 3)]).is_some());
    }
}
