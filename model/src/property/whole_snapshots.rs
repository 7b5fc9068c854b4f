//! S19: a snapshot that a start needs stays whole.
//!
//! A server may write a snapshot again in place only if a start would load as much without it, from older snapshots
//! and the log (rule 6.9.11): until the new one is on the disk, the process may end or the power may fail. The
//! monitor checks this when the file is truncated, so the property is violated even without a crash.

use super::{Declaration, Declared, LooksBack};
use crate::minds;
use crate::vocabulary::event::Event;

/// The monitor of S19. It has no state of its own.
#[derive(Clone, Copy, Debug, Default, Hash)]
pub struct WholeSnapshots;

impl Declared for WholeSnapshots {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "S19 snapshots stay whole",
        LooksBack::Tip,
        minds! { |this, view, event|
            Event::SnapshotTruncated { server, label, before, after } if after < before => Err(this.objection(format!(
                "{server} truncates the file of its snapshot {label} to write it anew: a start would load \
                 what is up to {after}, where it loaded what is up to {before}."
            ))),
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::property::testing::{TWO, Trial, z};

    #[test]
    fn a_snapshot_that_the_log_does_not_reach_back_to() {
        let mut trial = Trial::new(WholeSnapshots);
        let truncated =
            |before, after| Event::SnapshotTruncated { server: TWO, label: z(1, 7), before, after };
        // An older snapshot and the log contain as much.
        trial.accepts(truncated(z(1, 7), z(1, 7)));
        trial.accepts(truncated(z(1, 9), z(1, 9)));
        assert_eq!(
            trial.objects(truncated(z(1, 9), z(1, 2))),
            "S19 snapshots stay whole: server 2 truncates the file of its snapshot 1:7 to write it anew: a start \
             would load what is up to 1:2, where it loaded what is up to 1:9."
        );
    }
}
