//! S12: a server acknowledges only what is durable.
//!
//! A server acknowledges a transaction only after it has fsynced it. It acknowledges NEWLEADER only after the
//! synchronised history and the current epoch are on its disk (rules 6.6 and 6.7; earlier releases broke this in
//! several ways). All guarantees of a quorum depend on this.

use super::{Declaration, Declared, LooksBack, View};
use crate::minds;
use crate::vocabulary::event::Event;
use crate::vocabulary::zxid::Zxid;

/// The monitor of S12. It has no state of its own.
#[derive(Clone, Copy, Debug, Default, Hash)]
pub struct DurableAck;

impl DurableAck {
    /// Returns the monitor.
    pub fn new() -> DurableAck {
        DurableAck
    }
}

/// Returns the zxid up to which a learner's acknowledgement covers the history. An opening zxid covers the committed
/// prefix below it: its epoch had a leader, whose history became committed when the leader was activated.
fn vouched(view: View<'_>, history: Zxid) -> Zxid {
    match history.is_opening() {
        true => view.history.whole().last_up_to(history),
        false => history,
    }
}

impl Declared for DurableAck {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "S12 acknowledged means durable",
        LooksBack::Whole,
        minds! { |this, view, event|
            // The acknowledgement of NEWLEADER or UPTODATE carries an opening zxid, which names no transaction (rule
            // 6.7.1).
            Event::Acked { server, zxid, durable } if !zxid.is_opening() && durable < zxid => {
                let saw = format!(
                    "{server} acknowledged {zxid}, but its disk holds only what is up to {durable}."
                );
                Err(this.objection(saw).about(*durable))
            },
            Event::AckedNewLeader { server, epoch, history, durable, current_epoch } => {
                let vouched = vouched(view, *history);
                if current_epoch != epoch {
                    Err(this.objection(format!(
                        "{server} acknowledged NEWLEADER of epoch {epoch} while the current epoch on \
                         its disk was {current_epoch}."
                    )))
                } else if *durable < vouched {
                    let saw = format!(
                        "{server} acknowledged NEWLEADER of epoch {epoch} with the history up to \
                         {vouched}, but its disk holds only what is up to {durable}."
                    );
                    Err(this.objection(saw).about(vouched).about(*durable))
                } else {
                    Ok(())
                }
            },
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::property::testing::{TWO, Trial, z};
    use crate::vocabulary::zxid::{Epoch, Zxid};

    fn acked(zxid: Zxid, durable: Zxid) -> Event {
        Event::Acked { server: TWO, zxid, durable }
    }

    fn acked_new_leader(epoch: u32, history: Zxid, durable: Zxid, current_epoch: u32) -> Event {
        Event::AckedNewLeader {
            server: TWO,
            epoch: Epoch(epoch),
            history,
            durable,
            current_epoch: Epoch(current_epoch),
        }
    }

    #[test]
    fn an_ack_before_the_fsync() {
        let mut trial = Trial::new(DurableAck::new());
        trial.accepts(acked(z(1, 1), z(1, 1)));
        assert_eq!(
            trial.objects(acked(z(1, 2), z(1, 1))),
            "S12 acknowledged means durable: server 2 acknowledged 1:2, but its disk holds only \
             what is up to 1:1."
        );
    }

    #[test]
    fn new_leader_acknowledged_before_the_epoch_file() {
        let mut trial = Trial::new(DurableAck::new());
        assert_eq!(
            trial.objects(acked_new_leader(2, z(1, 1), z(1, 1), 1)),
            "S12 acknowledged means durable: server 2 acknowledged NEWLEADER of epoch 2 while the \
             current epoch on its disk was 1."
        );
    }

    #[test]
    fn new_leader_acknowledged_before_the_log() {
        let mut trial = Trial::new(DurableAck::new());
        assert_eq!(
            trial.objects(acked_new_leader(2, z(1, 7), z(1, 6), 2)),
            "S12 acknowledged means durable: server 2 acknowledged NEWLEADER of epoch 2 with the \
             history up to 1:7, but its disk holds only what is up to 1:6."
        );
    }

    #[test]
    fn an_opening_zxid_vouches_for_the_prefix_below_it() {
        let mut trial = Trial::new(DurableAck::new());
        trial.create(z(1, 1), "/a", "");
        trial.create(z(1, 2), "/b", "");
        trial.accepts(acked_new_leader(2, z(2, 0), z(1, 2), 2));
        assert!(trial.objects(acked_new_leader(2, z(2, 0), z(1, 1), 2)).contains("up to 1:2"));
    }

    #[test]
    fn what_needs_no_disk() {
        let mut trial = Trial::new(DurableAck::new());
        // The acknowledgement of UPTODATE, while the disk may hold nothing of this epoch.
        trial.accepts(acked(z(2, 0), z(1, 2)));
        // The first epoch of an empty ensemble.
        trial.accepts(acked_new_leader(1, Zxid::ZERO, Zxid::ZERO, 1));
        // An fsync may have covered more than the acknowledged transaction.
        trial.accepts(acked(z(2, 1), z(2, 5)));
    }
}
