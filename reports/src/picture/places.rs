//! Where and when steps happen, as the page and the exports see it.

use super::Picture;
use std::collections::BTreeSet;

/// Fails if a position in a picture leads nowhere, or its order is not that of its steps. A page would show such a
/// picture without a word about it.
pub(super) fn assert_complete(picture: &Picture) {
    let (lanes, steps) = (picture.lanes.len(), picture.steps.len());
    let lasts = |lane: usize, from: usize, to: Option<usize>| {
        lane < lanes && from < steps && to.is_none_or(|to| from <= to && to < steps)
    };
    for pair in picture.steps.windows(2) {
        assert!(
            pair[0].number < pair[1].number && pair[0].at <= pair[1].at,
            "steps are in order: {pair:?}"
        );
    }
    for step in &picture.steps {
        let changed = step.states.iter().map(|(lane, _)| lane);
        assert!(
            step.lanes.iter().chain(changed).all(|&lane| lane < lanes),
            "the lanes exist: {step:?}"
        );
        let mut lines = step.states.iter().flat_map(|(_, lines)| lines);
        assert!(lines.all(|&line| line < picture.lines.len()), "the lines exist: {step:?}");
    }
    for arrow in &picture.arrows {
        assert!(
            arrow.to < lanes && lasts(arrow.from, arrow.sent, arrow.ended),
            "the packet has two ends: {arrow:?}"
        );
    }
    for span in &picture.spans {
        assert!(lasts(span.lane, span.from, span.to), "the span is within the run: {span:?}");
    }
    for bar in &picture.bars {
        assert!(lasts(bar.lane, bar.from, bar.to), "the belief is within the run: {bar:?}");
    }
    let sentences = picture.script.iter().filter_map(|sentence| sentence.step);
    let violation = picture.violation.as_ref().and_then(|violation| violation.step);
    assert!(
        sentences.chain(violation).all(|step| step < steps),
        "sentences and the violation are about steps"
    );
}

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
