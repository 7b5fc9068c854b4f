//! S20: a promise outlives a power loss.
//!
//! A server that has accepted an epoch follows no leader of an older one, and its acknowledgement counts for one
//! leader of that epoch only. A server that has acknowledged NEWLEADER votes with that epoch (rules 6.3.2, 6.3.4 and
//! 5.1.3). Both epochs are in files. A start must find these files as they were written, or repair them (rule
//! 6.9.14), even if no other server has read the promise.

use super::{Declaration, Declared, LooksBack};
use crate::minds;
use crate::vocabulary::event::Event;

/// The monitor of S20. It has no state of its own.
#[derive(Clone, Copy, Debug, Default, Hash)]
pub struct KeptPromises;

impl Declared for KeptPromises {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "S20 promises outlive a power loss",
        LooksBack::Tip,
        minds! { |this, view, event|
            // A server promises the epoch in the step that writes the file, and relies on the file itself.
            Event::EpochUndone { server, file, written, found } if found < written => Err(this.objection(format!(
                "{server} had promised epoch {written} ({file}), but its disk holds {found} again."
            ))),
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::property::testing::{TWO, Trial};
    use crate::vocabulary::event::EpochFile;
    use crate::vocabulary::zxid::Epoch;

    #[test]
    fn an_older_epoch_is_found_behind_a_power_loss() {
        let mut trial = Trial::new(KeptPromises);
        let undone = |written, found| Event::EpochUndone {
            server: TWO,
            file: EpochFile::AcceptedEpoch,
            written: Epoch(written),
            found: Epoch(found),
        };
        trial.accepts(undone(3, 3));
        assert_eq!(
            trial.objects(undone(3, 2)),
            "S20 promises outlive a power loss: server 2 had promised epoch 3 (acceptedEpoch), but its disk holds 2 again."
        );
    }
}
