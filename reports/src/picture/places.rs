//! Where and when steps happen, as the exports see it.

use super::Picture;
use std::collections::BTreeSet;

/// Returns the lanes of each step: those that it happened on, in their order, and then those where it sent, read or lost
/// a packet. Empty for a step of the whole ensemble without packets.
pub(super) fn places(picture: &Picture) -> Vec<Vec<usize>> {
    let mut touched = vec![BTreeSet::new(); picture.steps.len()];
    for arrow in &picture.arrows {
        touched[arrow.sent].insert(arrow.from);
        if let Some(ended) = arrow.ended {
            touched[ended].insert(arrow.to);
        }
    }
    let own = picture.steps.iter().map(|step| step.lanes.clone());
    own.zip(touched)
        .map(|(mut lanes, touched)| {
            let others: Vec<usize> =
                touched.into_iter().filter(|lane| !lanes.contains(lane)).collect();
            lanes.extend(others);
            lanes
        })
        .collect()
}

/// Returns the time of each step in microseconds. Where no time passes, a step takes a millisecond, so that viewers
/// show steps apart.
pub(super) fn times(picture: &Picture) -> Vec<u64> {
    let timed = picture.steps.iter().any(|step| step.at > 0);
    let time = |step: &super::PictureStep| if timed { step.at } else { step.number * 1_000 };
    picture.steps.iter().map(time).collect()
}
