//! `committedPkts`: what an observer master has sent to its observers and keeps for those that it synchronises later (rule
//! 5.9.5).

use crate::vocabulary::config::Config;
use crate::vocabulary::packet::LeaderPacket;
use crate::vocabulary::zxid::Zxid;
use crate::wire::txn::record_length;
use std::collections::VecDeque;

/// What a packet takes beside its data, in bytes (`LearnerHandler.packetSize`).
const PACKET: usize = 4 + 8 + 8 + 8;

/// The most packets that one new packet drives out while the queue is not beyond its limit.
const DRIVEN_OUT: usize = 5;

/// INFORM and INFORMANDACTIVATE packets in the order of their zxids, the oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::server) struct Cache {
    packets: VecDeque<LeaderPacket>,
    /// The size of all packets, in bytes.
    size: usize,
}

/// An observer lacks transactions that are not kept any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooFarBehind;

impl Cache {
    /// Adds a packet, and drops the oldest ones near the limit (`cacheCommittedPacket`).
    pub(super) fn add(&mut self, packet: LeaderPacket, config: &Config) {
        let limit = config.options.observer_master_size_limit;
        self.size += size(&packet);
        self.packets.push_back(packet);
        for _ in 0..DRIVEN_OUT {
            if self.size * 5 > limit * 4 {
                self.drop_oldest();
            }
        }
        while self.size > limit {
            self.drop_oldest();
        }
    }

    fn drop_oldest(&mut self) {
        if let Some(oldest) = self.packets.pop_front() {
            self.size -= size(&oldest);
        }
    }

    /// Returns what follows this zxid (`startForwarding`). Without any packet nothing is asked.
    ///
    /// # Errors
    /// Fails if the oldest packet is not the next one after this zxid, nor older.
    pub(super) fn after(&self, last_seen: Zxid) -> Result<Vec<LeaderPacket>, TooFarBehind> {
        if self.packets.front().is_some_and(|oldest| zxid(oldest).0 > last_seen.0 + 1) {
            return Err(TooFarBehind);
        }
        let later = self.packets.iter().filter(|packet| zxid(packet) > last_seen);
        Ok(later.cloned().collect())
    }
}

fn size(packet: &LeaderPacket) -> usize {
    match packet {
        LeaderPacket::Inform(txn) | LeaderPacket::InformAndActivate { txn, .. } => {
            PACKET + record_length(&txn.body)
        }
        _ => unreachable!("only what informs observers is kept, not {packet:?}"),
    }
}

fn zxid(packet: &LeaderPacket) -> Zxid {
    match packet {
        LeaderPacket::Inform(txn) | LeaderPacket::InformAndActivate { txn, .. } => txn.zxid,
        _ => unreachable!("only what informs observers is kept, not {packet:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocabulary::error::Error;
    use crate::vocabulary::id::{SessionId, Xid};
    use crate::vocabulary::txn::{Txn, TxnBody};
    use crate::vocabulary::zxid::Epoch;
    use std::sync::Arc;

    fn z(counter: u32) -> Zxid {
        Zxid::new(Epoch(1), counter)
    }

    fn inform(counter: u32) -> LeaderPacket {
        let (session, cxid, body) = (SessionId(7), Xid(1), TxnBody::Error(Error::NoNode));
        LeaderPacket::Inform(Arc::new(Txn { zxid: z(counter), session, cxid, time: 0, body }))
    }

    /// Returns a cache of the packets 1 to `count` with room for `room` of them.
    fn cache(count: u32, room: usize) -> Cache {
        let mut config = Config::new(3, 0);
        config.options.observer_master_size_limit = room * size(&inform(1));
        let mut cache = Cache::default();
        (1..=count).for_each(|counter| cache.add(inform(counter), &config));
        cache
    }

    #[test]
    fn an_observer_gets_what_follows_its_zxid() {
        let zxids = |last| {
            let later = cache(3, 100).after(z(last)).expect("nothing is dropped yet");
            later.iter().map(|packet| zxid(packet).counter()).collect::<Vec<_>>()
        };
        assert_eq!(zxids(0), [1, 2, 3]);
        assert_eq!(zxids(2), [3]);
        assert_eq!(zxids(3), [] as [u32; 0]);
    }

    #[test]
    fn an_observer_that_lacks_more_than_is_kept_is_refused() {
        let cache = cache(10, 5);
        assert_eq!(cache.after(z(5)), Err(TooFarBehind), "four fifths of five are kept: 7 to 10");
        assert_eq!(cache.after(z(6)).map(|later| later.len()), Ok(4));
    }

    /// So a gap before the first packet is never noticed (rule 5.9.5).
    #[test]
    fn nothing_is_asked_before_anything_is_kept() {
        assert_eq!(Cache::default().after(z(0)), Ok(Vec::new()));
    }
}
