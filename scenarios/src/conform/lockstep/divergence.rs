//! A difference between the two, and why a case ends early.

use crate::conform::ConformError;
use crate::conform::heard::Heard;
use crate::conform::pair::Both;
use vivarium_model::packet::ServerPacket;

/// A difference between the real server and the model.
#[derive(Clone, Debug)]
pub struct Divergence {
    /// The index of the action; `None` for the end of the case.
    pub action: Option<usize>,
    /// The client that received it.
    pub who: String,
    /// The reason for the packets.
    pub occasion: String,
    /// What the client received from both.
    pub both: Both,
}

impl Divergence {
    /// Returns true if the real server sent the same packets up to some point, and nothing after it.
    pub(crate) fn is_silence(&self) -> bool {
        let Both { real, model, .. } = &self.both;
        let before = real.strip_suffix(&[Heard::Silence]);
        before.is_some_and(|before| model.starts_with(before))
    }

    /// Returns true if only the real server refused the client, all the time, as one does whose CommitProcessor sleeps while
    /// the client has seen more (ZOOKEEPER-4537).
    pub(crate) fn is_refusal(&self) -> bool {
        let Both { real, model, .. } = &self.both;
        matches!(
            (&real[..], &model[..]),
            ([Heard::End], [Heard::Packet(ServerPacket::Connected { .. })])
        )
    }
}

/// Why a case ended early.
#[derive(Debug)]
pub(in crate::conform) enum Stop {
    /// The two differ.
    Diverged(Box<Divergence>),
    /// The real server cannot be used any more.
    Failed(ConformError),
}

impl From<ConformError> for Stop {
    fn from(error: ConformError) -> Stop {
        Stop::Failed(error)
    }
}

impl Stop {
    pub(super) fn at(self, action: usize) -> Stop {
        match self {
            Stop::Diverged(divergence) => {
                Stop::Diverged(Box::new(Divergence { action: Some(action), ..*divergence }))
            }
            failed => failed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vivarium_model::id::SessionId;
    use vivarium_model::time::Duration;

    fn divergence(real: &[&str], model: &[&str], is_silent: bool) -> Divergence {
        let heard =
            |words: &[&str]| words.iter().map(|it| Heard::Garbled(it.to_string())).collect();
        let (mut real, model): (Vec<Heard>, _) = (heard(real), heard(model));
        real.extend(is_silent.then_some(Heard::Silence));
        let both = Both { real, model, kept_back: 0 };
        Divergence { action: None, who: String::new(), occasion: String::new(), both }
    }

    /// Only silence after equal packets counts as a lost wake-up; any different packet is a divergence.
    #[test]
    fn a_server_that_says_the_same_and_then_nothing_is_silent() {
        assert!(divergence(&[], &["event", "answer"], true).is_silence());
        assert!(divergence(&["event"], &["event", "answer"], true).is_silence());
        assert!(!divergence(&["other"], &["event", "answer"], true).is_silence());
        assert!(!divergence(&["event"], &["event", "answer"], false).is_silence());
        assert!(!divergence(&["event", "answer", "more"], &["event", "answer"], true).is_silence());
        let (session, timeout, read_only) = (SessionId(1), Duration::from_secs(30), false);
        let connected = || Heard::Packet(ServerPacket::Connected { session, timeout, read_only });
        let mut refused = divergence(&[], &[], false);
        refused.both.real = vec![Heard::End];
        assert!(!refused.is_refusal(), "the model refuses the client, too");
        refused.both.model = vec![connected()];
        assert!(refused.is_refusal() && !refused.is_silence());
        (refused.both.real, refused.both.model) = (vec![connected()], vec![Heard::End]);
        assert!(!refused.is_refusal());
    }
}
