//! A picture as a log for ShiViz, which draws happened-before from vector clocks.

use super::Picture;
use super::places::{assert_complete, places};
use std::fmt::Write as _;

/// The regular expression by which ShiViz finds the events. It is the first line of the log, where ShiViz looks for it.
pub const EVENT: &str = r"(?<host>\S+) (?<clock>\{.*\})\n#(?<step>\d+) (?<event>.*)";

/// Returns the picture as a log: the regular expression [`EVENT`], an empty line (ShiViz's mark for a log of one run),
/// and two lines for each event.
///
/// A step is an event on each lane that it happened on; the events of one step are not ordered by it. A step of the
/// whole ensemble is an event on every lane. An event happens after the event before on its lane, and after the
/// sending of the packets that it reads. A packet that was lost, or was sent and read within one step, orders nothing.
pub fn shiviz(picture: &Picture) -> String {
    assert_complete(picture);
    let hosts: Vec<String> = picture.lanes.iter().map(|lane| host(&lane.name)).collect();
    let mut text = format!("{EVENT}\n\n");
    each_event(picture, |lane, step, clock| {
        let clock = clock.iter().enumerate().filter(|(_, count)| **count > 0);
        let clock: Vec<String> =
            clock.map(|(of, count)| format!("{}:{count}", quoted(&hosts[of]))).collect();
        let step = &picture.steps[step];
        let words = step.words.split_whitespace().collect::<Vec<_>>().join(" ");
        let _ =
            writeln!(text, "{} {{{}}}\n#{} {words}", hosts[lane], clock.join(", "), step.number);
    });
    text
}

/// Computes the vector clocks, and visits each event with the position of its lane, that of its step, and its clock.
fn each_event(picture: &Picture, mut visit: impl FnMut(usize, usize, &[u64])) {
    let mut read_in = vec![Vec::new(); picture.steps.len()];
    let mut sent_in = vec![Vec::new(); picture.steps.len()];
    for (index, arrow) in picture.arrows.iter().enumerate() {
        if let Some(ended) = arrow.ended.filter(|&ended| !arrow.lost && ended > arrow.sent) {
            read_in[ended].push(index);
            sent_in[arrow.sent].push(index);
        }
    }
    let every: Vec<usize> = (0..picture.lanes.len()).collect();
    let mut clocks = vec![vec![0; picture.lanes.len()]; picture.lanes.len()];
    // The clock that a packet under way brings along.
    let mut brought = vec![Vec::new(); picture.arrows.len()];
    for (step, mut lanes) in places(picture).into_iter().enumerate() {
        if picture.steps[step].lanes.is_empty() {
            lanes.clone_from(&every);
        }
        for lane in lanes {
            for &arrow in read_in[step].iter().filter(|&&arrow| picture.arrows[arrow].to == lane) {
                merge(&mut clocks[lane], &std::mem::take(&mut brought[arrow]));
            }
            clocks[lane][lane] += 1;
            for &arrow in sent_in[step].iter().filter(|&&arrow| picture.arrows[arrow].from == lane)
            {
                brought[arrow].clone_from(&clocks[lane]);
            }
            visit(lane, step, &clocks[lane]);
        }
    }
}

fn merge(clock: &mut [u64], other: &[u64]) {
    for (mine, theirs) in clock.iter_mut().zip(other) {
        *mine = (*mine).max(*theirs);
    }
}

/// ShiViz takes the text before the first blank as the host.
fn host(name: &str) -> String {
    name.split_whitespace().collect::<Vec<_>>().join("-")
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("a text is written as JSON")
}
