//! S13: no server gives up.
//!
//! A server that starts from an undamaged disk starts (L5), and no process ends except by a crash (L6). Such an exit
//! is an event like any other. A server of the model that reaches an impossible state panics, which every engine also
//! reports as a violation.

use super::{Declaration, Declared, LooksBack};
use crate::minds;
use crate::vocabulary::event::Event;

/// The monitor of S13. It has no state of its own.
#[derive(Clone, Copy, Debug, Default, Hash)]
pub struct NoExit;

impl Declared for NoExit {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "S13 no server gives up",
        LooksBack::Tip,
        minds! { |this, view, event|
            Event::Exited { server, reason } => {
                Err(this.objection(format!("{server} exited, although its disk is sound: {reason}.")))
            },
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::property::testing::{TWO, Trial};

    #[test]
    fn a_server_that_refuses_to_start() {
        let mut trial = Trial::new(NoExit);
        trial.accepts(Event::Crashed { server: TWO, lost: 0 });
        trial.accepts(Event::Restarted { server: TWO });
        assert_eq!(
            trial.objects(Event::Exited { server: TWO, reason: "a log newer than currentEpoch" }),
            "S13 no server gives up: server 2 exited, although its disk is sound: a log newer than \
             currentEpoch."
        );
    }
}
