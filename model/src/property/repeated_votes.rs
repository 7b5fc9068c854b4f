//! S21: servers do not answer each other for ever.
//!
//! A LOOKING server sends its vote again when it has read nothing for a while, at intervals that double. So in one round it
//! reads the same notification of another server a few times at most. Two servers that answer each other's answers send
//! as fast as the network is.

use super::Objection;
use crate::ensemble::Ensemble;
use crate::vocabulary::event::Event;
use crate::vocabulary::id::ServerId;
use crate::vocabulary::packet::{Notification, PeerState};
use crate::vocabulary::step::Step;
use std::collections::BTreeMap;

/// How often a server may read the same notification of the same server while nothing changes for it: several times as
/// often as in an hour of intervals that double from 200 ms to 60 s and begin again twice.
pub const MOST: u32 = 200;

/// A notification, with the state and the round of its reader.
type Read = (Notification, PeerState, u32);

/// What each server has read last of each other one, and how often in a row.
#[derive(Clone, Debug, Default)]
pub struct RepeatedVotes {
    last: BTreeMap<(ServerId, ServerId), (Read, u32)>,
    /// The notification that is read in this step, with its sender and its reader.
    now: Option<(ServerId, ServerId, Read)>,
}

impl RepeatedVotes {
    /// Records, before a step, the notification that a server reads in it.
    pub fn before(&mut self, step: &Step, ensemble: &Ensemble) {
        self.now = match *step {
            Step::Vote { from, to } => {
                ensemble.network().waiting_mail(from, to).zip(ensemble.server(to)).map(
                    |(notification, reader)| {
                        (from, to, (notification, reader.peer_state(), reader.round()))
                    },
                )
            }
            _ => None,
        };
    }

    /// Counts what was read, after the step was done.
    ///
    /// # Errors
    /// The objection of S21, if the server has read the same one too often.
    pub fn after(&mut self, events: &[Event]) -> Result<(), Objection> {
        for event in events {
            if let Event::Elected { server, .. } = event {
                self.ended(*server);
            }
        }
        match self.now.take() {
            Some((from, to, read)) => self.reads(from, to, read),
            None => Ok(()),
        }
    }

    /// Forgets what a server has sent and read in the election that it has just ended. In its next election it sends and
    /// reads the same notifications if nothing has changed (rule 5.3.1): a leader with an older configuration refuses it
    /// until initLimit (rule 5.8.9), and it elects that leader again each time.
    fn ended(&mut self, server: ServerId) {
        self.last.retain(|(from, to), _| *from != server && *to != server);
    }

    fn reads(&mut self, from: ServerId, to: ServerId, read: Read) -> Result<(), Objection> {
        let (last, times) = self.last.entry((from, to)).or_insert((read, 0));
        if *last != read {
            (*last, *times) = (read, 0);
        }
        *times += 1;
        if *times <= MOST {
            return Ok(());
        }
        let (Notification { vote, round, state, .. }, reader, _) = read;
        let saw = format!(
            "{to}, which is {reader}, has read the same notification of {from} more than {MOST} times in a row: {state}, \
             round {round}, {vote}."
        );
        let objection = Objection::new("S21 elections fall silent", saw);
        Err(objection.about(from).about(to).about(vote.leader).about(vote.zxid))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocabulary::packet::Vote;
    use crate::vocabulary::quorum::Attached;

    const ONE: ServerId = ServerId(1);
    const TWO: ServerId = ServerId(2);
    const THREE: ServerId = ServerId(3);

    fn read(round: u32) -> Read {
        let notification = Notification {
            vote: Vote::OF_OBSERVER,
            round: 3,
            state: PeerState::Looking,
            configuration: Attached(None),
        };
        (notification, PeerState::Looking, round)
    }

    #[test]
    fn the_same_for_ever_is_objected_to() {
        let mut votes = RepeatedVotes::default();
        for _ in 0..MOST {
            assert_eq!(votes.reads(ONE, TWO, read(3)), Ok(()));
            assert_eq!(votes.reads(TWO, ONE, read(3)), Ok(()));
        }
        let objection = votes.reads(ONE, TWO, read(3)).expect_err("once too often");
        assert_eq!(objection.property, "S21 elections fall silent");
    }

    /// The next election of either begins with the same notification; elections of others change nothing.
    #[test]
    fn the_next_election_begins_a_new_count() {
        let ended = |server| [Event::Elected { server, leader: THREE, round: 3 }];
        let reads = |ends: ServerId| {
            let mut votes = RepeatedVotes::default();
            for _ in 0..2 {
                for _ in 0..MOST {
                    votes.reads(ONE, TWO, read(3))?;
                }
                votes.after(&ended(ends))?;
            }
            Ok::<(), Objection>(())
        };
        assert_eq!((reads(ONE), reads(TWO)), (Ok(()), Ok(())));
        assert!(reads(THREE).is_err());
    }

    /// The reader's next round is another election.
    #[test]
    fn a_change_begins_a_new_count() {
        let mut votes = RepeatedVotes::default();
        for round in 0..5 {
            for _ in 0..MOST {
                assert_eq!(votes.reads(ONE, TWO, read(round)), Ok(()));
            }
        }
    }
}
