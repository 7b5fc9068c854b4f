//! The report of a comparison.

use super::action::NAMES;
use super::heard::Heard;
use super::plan::Plan;
use super::releases::defects;
use super::run::Outcome;
use super::shrink::Finding;
use super::tally::Tally;
use std::fmt::Write;
use vivarium_model::error::Error;
use vivarium_model::release::{CHANGES, Change, Release};
use vivarium_reports::numbers::grouped;
use vivarium_reports::table::of_rows;

/// Reports the mix of operations and codes, the differences of the release, and the verdict.
pub fn report(plan: &Plan, outcome: &Outcome, width: u16) -> String {
    let mut text = mix(&outcome.tally, width);
    text.push('\n');
    text.push_str(&own(plan.release(), width));
    text.push('\n');
    if outcome.tally.kept_back() > 0 {
        let _ = writeln!(
            text,
            "answers that a real server kept back until a ping came (ZOOKEEPER-4537, 3.6.0 to 3.8.0): {}\n",
            grouped(outcome.tally.kept_back())
        );
    }
    if outcome.left_open > 0 {
        let _ = writeln!(
            text,
            "cases left open, in which a real server stayed silent and did not again (ZOOKEEPER-4537, 3.6.0 to 3.8.0): \
             {}\n",
            grouped(outcome.left_open)
        );
    }
    if let Some(finding) = &outcome.finding {
        text.push_str(&found(plan, finding));
    }
    if let Some(objection) = &outcome.model.violation {
        let _ = writeln!(
            text,
            "the model, with the defects of {}, violates its own property: {objection}\n",
            plan.release()
        );
    }
    let operations = grouped(outcome.tally.operations());
    let cases = grouped(outcome.cases);
    let seconds = outcome.elapsed.as_secs_f64();
    let _ = match &outcome.finding {
        None => writeln!(
            text,
            "conform: no divergence in {operations} operations ({cases} cases), {seconds:.1} s of \
             real time"
        ),
        Some(finding) if finding.is_inconclusive(plan) => writeln!(
            text,
            "conform: INCONCLUSIVE after {operations} operations ({cases} cases): the two differed \
             once, and not again"
        ),
        Some(finding) => writeln!(
            text,
            "conform: DIVERGED after {operations} operations ({cases} cases), shown by {}",
            actions(finding.script.len())
        ),
    };
    text
}

fn actions(count: usize) -> String {
    if count == 1 { "1 action".to_owned() } else { format!("{count} actions") }
}

/// Reports how often each operation was done and each code answered.
pub fn mix(tally: &Tally, width: u16) -> String {
    let rows = NAMES.iter().map(|name| [(*name).to_owned(), grouped(tally.of_action(name))]);
    let operations = of_rows(["operation", "count"], rows, 1, width);
    let ok = ["Ok".to_owned(), "0".to_owned(), grouped(tally.of_code(None))];
    let (mut rows, mut never) = (vec![ok], Vec::new());
    for (error, code) in Error::CODES {
        match tally.of_code(Some(error)) {
            0 => never.push(format!("{error:?} ({code})")),
            count => rows.push([format!("{error:?}"), code.to_string(), grouped(count)]),
        }
    }
    let codes = of_rows(["answer", "code", "count"], rows, 1, width);
    format!("{operations}\n\n{codes}\nnever answered: {}\n", never.join(", "))
}

/// Reports the differences of the release from master, which are switched on in the model.
fn own(release: &str, width: u16) -> String {
    let (head, defects) = (Release::Head.bugs(), defects(release).unwrap_or_default());
    let own = |change: &&Change| defects.has(change.bug) && !head.has(change.bug);
    let rows = CHANGES.iter().filter(own).map(|Change { bug, ends, .. }| {
        let ends: Vec<String> = ends.iter().map(ToString::to_string).collect();
        [bug.summary().to_owned(), ends.join(", "), bug.name().to_owned()]
    });
    let what = format!("what {release} does, and master no longer");
    let header = [&*what, "repaired in", "switch"];
    of_rows(header, rows, 3, width)
}

/// Reports the numbered script and both answers.
pub fn found(plan: &Plan, finding: &Finding) -> String {
    let mut text = String::from("The two differ at the end of this script:\n");
    for (at, action) in finding.script.iter().enumerate() {
        let _ = writeln!(text, "{:4}  {action}", at + 1);
    }
    let divergence = &finding.divergence;
    let when = match divergence.action {
        Some(at) => format!("at {}", at + 1),
        None => "when the case is over".to_owned(),
    };
    let _ = writeln!(text, "\n{when}, {} receives, for {}:", divergence.who, divergence.occasion);
    let heard = |text: &mut String, who: &str, all: &[Heard]| {
        for heard in all {
            let _ = writeln!(text, "  {who:<6} {heard}");
        }
        if all.is_empty() {
            let _ = writeln!(text, "  {who:<6} nothing");
        }
    };
    heard(&mut text, "real", &divergence.both.real);
    heard(&mut text, "model", &divergence.both.model);
    if plan.server.is_some() {
        let _ = writeln!(
            text,
            "\nThis is the whole case; zxids are counted from its root. It is not shortened, because shortening needs \
             fresh servers: without --server they are started.\nreplay: {}\n",
            replay(plan)
        );
        return text;
    }
    let _ = writeln!(
        text,
        "\nShortened from {} by {} attempts; zxids are counted from the root of the case.",
        actions(finding.first_length),
        finding.attempts
    );
    if !finding.again {
        text.push_str(
            "The difference did not recur: it depends on earlier operations, or on time.\n",
        );
    }
    let _ = writeln!(text, "replay: {}\n", replay(plan));
    text
}

/// Returns the command that repeats the comparison, with all of its options: they decide what is drawn, and how much.
fn replay(plan: &Plan) -> String {
    let Plan { operations, seed, server, zookeeper, planted, ensemble, observers } = plan;
    let mut words = vec![format!("vivarium conform --ops {operations} --seed {seed}")];
    if *ensemble {
        words.push("--ensemble".to_owned());
    }
    if *observers > 0 {
        words.push(format!("--observers {observers}"));
    }
    words.extend(planted.iter().map(|bug| format!("--bug {bug}")));
    words.extend(zookeeper.iter().map(|release| format!("--zookeeper {release}")));
    words.extend(server.iter().map(|server| format!("--server {server}")));
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use vivarium_model::release::Bug;

    #[test]
    fn the_command_that_repeats_a_comparison_has_all_of_its_options() {
        let plain = Plan {
            operations: 500,
            seed: 7,
            server: None,
            zookeeper: None,
            planted: Vec::new(),
            ensemble: false,
            observers: 0,
        };
        assert_eq!(replay(&plain), "vivarium conform --ops 500 --seed 7");
        let server = Some(([127, 0, 0, 1], 2181).into());
        let planted = vec![Bug::PlantedPzxid];
        let existing = Plan { server, planted, ..plain.clone() };
        assert_eq!(
            replay(&existing),
            "vivarium conform --ops 500 --seed 7 --bug PlantedPzxid --server 127.0.0.1:2181"
        );
        let zookeeper = Some("3.9.5".to_owned());
        let ensemble = Plan { zookeeper, ensemble: true, observers: 2, ..plain };
        assert_eq!(
            replay(&ensemble),
            "vivarium conform --ops 500 --seed 7 --ensemble --observers 2 --zookeeper 3.9.5"
        );
    }
}
