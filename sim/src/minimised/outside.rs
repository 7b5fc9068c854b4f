//! Minimises the case of clients outside of the run: steps are left out as long as the rest violates the same property.
//! There is no seed to go by, and what the clients sent is an input like any other.

use super::steps::NO_TIME;
use crate::recorded::minimise::minimise_while;
use crate::recorded::replay::Timers;
use crate::replica::replay_with;
use crate::run::demands::PROGRESS;
use std::sync::atomic::{AtomicU64, Ordering};
use vivarium_model::case::Case;
use vivarium_model::extent::Extent;
use vivarium_model::property::Monitor;
use vivarium_model::step::Step;
use vivarium_model::time::Time;
use vivarium_model::trace::TraceLine;

/// A minimised case of clients outside, with the lines of its steps.
#[derive(Clone, Debug)]
pub struct MinimisedOutside {
    /// The case.
    pub case: Case,
    /// Its steps in words.
    pub lines: Vec<TraceLine>,
    /// The size of the run as it was recorded.
    pub before: Extent,
    /// The size of the smaller run.
    pub after: Extent,
    /// The number of replays that were tried.
    pub tries: u64,
    /// What was not tried, as a sentence; `None` if no step can be left out any more.
    pub incomplete: Option<String>,
}

/// Minimises the case of clients outside of the run, judged by further monitors as well. Returns `None` if the case
/// violates no property (any more).
///
/// # Errors
/// One sentence that says what is wrong with the case.
pub fn minimised_outside(
    case: &Case,
    further: &dyn Fn() -> Vec<Box<dyn Monitor>>,
    has_time: &dyn Fn() -> bool,
) -> Result<Option<MinimisedOutside>, String> {
    let whole = replay_with(case, further(), Timers::WhenDue)?;
    let Some(objection) = whole.objection.filter(|objection| objection.property != PROGRESS) else {
        return Ok(None);
    };
    let (tries, mut tried) = (AtomicU64::new(0), case.clone());
    let mut shows = |steps: &[(Time, Step)]| {
        tries.fetch_add(1, Ordering::Relaxed);
        tried.steps = steps.to_vec();
        let replayed = replay_with(&tried, further(), Timers::WhenDue).ok()?;
        let found = replayed.objection.as_ref()?;
        if found.property != objection.property {
            return None;
        }
        let mut skipped = replayed.skipped.iter().map(|(number, _)| *number).peekable();
        let mut is_taken = |number: u64| skipped.next_if_eq(&number).is_none();
        let taken = (1..).zip(steps).filter(|(number, _)| is_taken(*number));
        let taken: Vec<_> = taken.take(replayed.taken.len()).map(|(_, step)| *step).collect();
        Some((taken, replayed))
    };
    let Some((steps, replayed)) = minimise_while(&case.steps, &[], has_time, &mut shows) else {
        return Ok(None);
    };
    let small = Case { steps, hash: replayed.hash, violation: replayed.objection, ..case.clone() };
    let incomplete = (!has_time()).then(|| NO_TIME.to_string());
    let (before, after) = (Extent::of(case), Extent::of(&small));
    let (lines, tries) = (replayed.lines, tries.into_inner());
    Ok(Some(MinimisedOutside { case: small, lines, before, after, tries, incomplete }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replica::Replica;
    use std::sync::Arc;
    use vivarium_model::config::ServerOptions;
    use vivarium_model::event::Event;
    use vivarium_model::id::{ServerId, Xid};
    use vivarium_model::minds;
    use vivarium_model::op::{CreateMode, Op, Request};
    use vivarium_model::packet::ClientPacket;
    use vivarium_model::property::{Declaration, Declared, LooksBack};
    use vivarium_model::release::Bugs;
    use vivarium_model::time::Duration;
    use vivarium_model::txn::TxnBody;

    /// Objects to the creation of `/2-15`.
    #[derive(Clone, Debug, Hash)]
    struct NotThis;

    impl Declared for NotThis {
        const DECLARATION: Declaration<Self> = Declaration::everywhere(
            "not this",
            LooksBack::Nothing,
            minds! { |this, view, event|
                Event::Committed { txn, .. } => match &txn.body {
                    TxnBody::Create { path, .. } if &**path == "/2-15" => {
                        Err(this.objection(format!("{path} was created")))
                    }
                    _ => Ok(()),
                },
            },
        );
    }

    fn further() -> Vec<Box<dyn Monitor>> {
        vec![Box::new(NotThis)]
    }

    /// Two clients write, and the servers crash and come back.
    fn recorded() -> Case {
        let mut replica = Replica::new(3, Bugs::NONE, ServerOptions::default());
        for server in 1..=2 {
            let connection = replica.open(ServerId(server));
            replica.send(
                connection,
                ClientPacket::Connect {
                    last_zxid_seen: Default::default(),
                    timeout: Duration::from_secs(6),
                    session: None,
                    read_only: false,
                },
            );
            replica.receive(connection);
            for xid in 1..20 {
                let path = format!("/{server}-{xid}");
                let request = Request::Write(Op::create(path, *b"", CreateMode::Persistent));
                let request = Arc::new(request);
                replica.send(connection, ClientPacket::Request { xid: Xid(xid), request });
                replica.receive(connection);
            }
        }
        replica.case()
    }

    #[test]
    fn what_a_violation_does_not_need_is_left_out() {
        let whole = recorded();
        let found = minimised_outside(&whole, &further, &|| true).expect("a sound case");
        let found = found.expect("it violates its property");
        assert_eq!(found.incomplete, None);
        assert!(5 * found.after.steps < found.before.steps, "{} of {}", found.after, found.before);
        let again = replay_with(&found.case, further(), Timers::AsRecorded).expect("it is sound");
        assert_eq!((again.skipped.len(), again.hash), (0, found.case.hash));
        assert_eq!(again.objection.expect("it violates it again").property, "not this");
        let held = replay_with(&found.case, Vec::new(), Timers::AsRecorded).expect("it is sound");
        assert_eq!(held.objection, None);
    }

    #[test]
    fn a_case_that_violates_nothing_is_not_minimised() {
        let held = recorded();
        assert!(minimised_outside(&held, &Vec::new, &|| true).expect("a sound case").is_none());
    }

    #[test]
    fn without_time_the_case_stays_whole() {
        let found = minimised_outside(&recorded(), &further, &|| false).expect("a sound case");
        let found = found.expect("it violates its property");
        assert!(found.incomplete.is_some() && found.tries == 1 && found.after <= found.before);
    }
}
