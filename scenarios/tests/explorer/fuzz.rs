//! All searches of generated programs give the same answer, and a mistake planted in a reduction is found.

use vivarium::fuzz::{
    Budget, Call, Case, Compared, Flaw, Statement, Watched, Watching, against_reference, compare,
    draw, fuzz, reference,
};
use vivarium_model::release::{Bug, Bugs};

const STATES: usize = 1_000;
/// The number of cases with sessions that clients give up.
const GIVEN_UP: u64 = 150;
/// The number of drawn cases; in one of eight the leader deletes containers.
const GOING: u64 = 1_800;

#[test]
fn all_searches_come_to_the_same() {
    let fuzzed = fuzz(1, 0..60, None, STATES, &|_| true);
    let told = fuzzed.difference.map(|(number, case, what)| format!("{number}: {what}\n{case}"));
    assert_eq!(told, None);
    assert!(fuzzed.compared > 10, "only {} cases were small enough", fuzzed.compared);
}

/// Compares each of these cases. Returns how many were small enough, and how many were also compared with the
/// reference.
fn compared(cases: impl Iterator<Item = (u64, Case)>) -> (u64, u64) {
    let (mut compared, mut interpreted) = (0, 0);
    for (number, case) in cases {
        match compare(&case, None, STATES, number) {
            Compared::Agree { interpreted: states, .. } => {
                compared += 1;
                interpreted += u64::from(states.is_some());
            }
            Compared::TooLarge => {}
            Compared::Differ(what) => panic!("{number}: {what}\n{case}"),
        }
    }
    (compared, interpreted)
}

/// A session that a client gives up by its own clock counts as one of the expiries.
#[test]
fn sessions_that_clients_give_up() {
    let cases = (0..GIVEN_UP).map(|number| {
        let mut case = draw(11, number);
        case.gives_up = true;
        case.budget.expiries = case.budget.expiries.max(1);
        (number, case)
    });
    let (compared, interpreted) = compared(cases);
    assert!(compared > 10 && interpreted > 5, "{compared} compared, {interpreted} interpreted");
}

/// The leader deletes containers and TTL znodes: a deletion counts if something else could happen first.
#[test]
fn containers_that_the_leader_deletes() {
    let cases = (0..GOING).map(|number| (number, draw(13, number)));
    let (compared, interpreted) = compared(cases.filter(|(_, case)| case.deletes));
    assert!(compared > 20 && interpreted > 10, "{compared} compared, {interpreted} interpreted");
}

#[test]
fn planted_mistakes_are_found() {
    let soon = [
        Flaw::InputAtOnce,
        Flaw::PacketAtOnce,
        Flaw::SessionAtOnce,
        Flaw::VisibleIsPrivate,
        Flaw::SentIsInvisible,
        Flaw::InputAlways,
        Flaw::PacketAlways,
        Flaw::AtOnceThoughLost,
        Flaw::AtOnceThoughExpiring,
        Flaw::AtOnceThoughKilled,
        Flaw::FailedWriteIsPrivate,
        Flaw::OneWayOfABlock,
        Flaw::FootprintWithoutSessions,
        Flaw::FootprintWithoutBudget,
        Flaw::FootprintOfWrites,
        Flaw::FootprintOfReads,
        Flaw::SymmetryOfSteps,
        Flaw::SymmetryOfMonitors,
        Flaw::SymmetryOfEnds,
    ];
    for flaw in soon {
        let fuzzed = fuzz(1, 0..100, Some(flaw), 2 * STATES, &|_| true);
        assert!(fuzzed.difference.is_some(), "{flaw:?}");
    }
    // Few small cases show these.
    let seldom = [
        (Flaw::FootprintOfWatches, 2),
        (Flaw::MonitorsWithoutTip, 15),
        (Flaw::SymmetryOfWrites, 210),
    ];
    for (flaw, case) in seldom {
        let fuzzed = fuzz(1, case..case + 1, Some(flaw), 20 * STATES, &|_| true);
        assert!(fuzzed.difference.is_some(), "{flaw:?}");
    }
}

/// Creates a case with one client per program, and this budget.
fn case(programs: &[&[Statement]], budget: Budget) -> Case {
    Case {
        programs: programs.iter().map(|program| program.to_vec()).collect(),
        setup: Vec::new(),
        chroot: false,
        gives_up: false,
        deletes: false,
        watched: Watched::Ends,
        budget,
    }
}

/// The reference reaches results that searches once missed.
#[test]
fn the_reference_knows_what_searches_had_missed() {
    let comes_to = |case: &Case, words: &str| {
        let reference = reference(case, 100_000).expect("it is a small case");
        assert!(
            reference.outcomes.iter().any(|outcome| outcome.contains(words)),
            "{case}: {words} is none of {:#?}",
            reference.outcomes
        );
    };
    let (lost, expiries) =
        (Budget { lost: 1, ..Budget::default() }, Budget { expiries: 1, ..Budget::default() });
    let sync: &[Statement] = &[Statement::Do(Call::Sync)];
    comes_to(&case(&[sync], lost), "ConnectionLoss");
    let exists: &[Statement] = &[Statement::Do(Call::Exists(0))];
    comes_to(&case(&[exists], expiries), "SessionExpired");
    let sleeps: &[Statement] = &[
        Statement::Do(Call::CreateEphemeral(0)),
        Statement::Do(Call::Sleep),
        Statement::Do(Call::Exists(0)),
    ];
    comes_to(&case(&[sleeps], expiries), "slept; SessionExpired");
    let writes: &[Statement] = &[Statement::Do(Call::Create(0)), Statement::Do(Call::Delete(0))];
    let watches: &[Statement] = &[Statement::Watch(Watching::Exists, 0), Statement::Await];
    comes_to(&case(&[writes, watches], Budget::default()), "standstill of client 2");
}

/// Defects of ZooKeeper that all searches of a program share are differences from the reference.
#[test]
fn the_reference_objects_to_defects_that_all_searches_share() {
    let create: &[Statement] = &[Statement::Do(Call::Create(0))];
    let sets: &[Statement] = &[Statement::Do(Call::Create(0)), Statement::Do(Call::SetData(0, 1))];
    let deletes: &[Statement] = &[
        Statement::Do(Call::Create(0)),
        Statement::Do(Call::Create(1)),
        Statement::Do(Call::Delete(1)),
    ];
    let waits: &[Statement] = &[Statement::Watch(Watching::Exists, 0), Statement::Await];
    let waits_for_children: &[Statement] =
        &[Statement::Watch(Watching::Children, 0), Statement::Await];
    let planted: [(Bug, &[&[Statement]]); 3] = [
        (Bug::PlantedExistEvent, &[create, waits]),
        (Bug::PlantedChildWatch, &[deletes, waits_for_children]),
        (Bug::PlantedVersion, &[sets]),
    ];
    for (bug, programs) in planted {
        let case = case(programs, Budget::default());
        assert_eq!(
            against_reference(&case, Bugs::NONE, 50_000).map(|states| states.is_some()),
            Ok(true)
        );
        let objects = against_reference(&case, Bugs::NONE.with(bug), 50_000);
        assert!(objects.is_err(), "{bug}: {objects:?}");
    }
}

/// If a session can expire, its server closes the connection, pending requests are lost, and another server accepts
/// the client with its last zxid. So what the client saw before is no lower bound for what it sees later.
#[test]
fn a_session_that_has_ended_is_shown_the_past_again() {
    let budget = Budget { expiries: 1, kills: 1, ..Budget::default() };
    let case = Case {
        setup: vec![0],
        chroot: true,
        ..case(&[&[Statement::Do(Call::CreateEphemeral(0))]], budget)
    };
    let compared = compare(&case, None, 10_000, 0);
    assert!(matches!(compared, Compared::Agree { .. }), "{compared:?}");
}

/// Outcomes alone do not show that the past was forgotten too early, but merged states do.
#[test]
fn states_that_are_merged_can_do_the_same() {
    let budget = Budget { expiries: 1, kills: 1, ..Budget::default() };
    let case = Case {
        setup: vec![0, 2],
        chroot: true,
        ..case(&[&[Statement::Do(Call::Create(0))]], budget)
    };
    let agree = compare(&case, None, 10_000, 0);
    assert!(matches!(agree, Compared::Agree { .. }), "{agree:?}");
    let differ = compare(&case, Some(Flaw::PastIgnoresNewSessions), 10_000, 0);
    assert!(
        matches!(&differ, Compared::Differ(what) if what.search.contains("merged")),
        "{differ:?}"
    );
}

/// Two mistakes that only special programs show: a watch that is set after the event that it would have seen, and a
/// reader whose server lags behind writes that came in either order.
#[test]
fn mistakes_that_few_programs_show_are_found() {
    let watches: &[&[Statement]] = &[
        &[Statement::Do(Call::Receive), Statement::Do(Call::CreateAndDelete(0))],
        &[Statement::Send(0), Statement::Watch(Watching::Exists, 0), Statement::Await],
    ];
    let lags: &[&[Statement]] = &[
        &[Statement::Do(Call::Delete(0))],
        &[Statement::Do(Call::Delete(2)), Statement::Do(Call::Create(2))],
        &[Statement::Do(Call::Exists(0)), Statement::Do(Call::Exists(2))],
    ];
    // Znodes that are deleted before the last program has finished, and remain after it.
    let goes: &[&[Statement]] =
        &[&[Statement::Do(Call::CreateTtl(0)), Statement::Do(Call::CreateTtl(0))]];
    let looks: &[Statement] = &[Statement::Do(Call::Exists(0)), Statement::Do(Call::Create(2))];
    let going = |programs: &[&[Statement]]| Case {
        deletes: true,
        ..case(programs, Budget { deletions: 1, ..Budget::default() })
    };
    let cases = [
        (Flaw::DeletionIsPrivate, going(&[&[Statement::Do(Call::CreateTtl(0))], looks])),
        (Flaw::AtOnceThoughDeleting, Case { watched: Watched::Commits, ..going(goes) }),
        (Flaw::PrefixIgnoresWatches, case(watches, Budget::default())),
        (Flaw::PastIgnoresServers, Case { setup: vec![0, 2], ..case(lags, Budget::default()) }),
    ];
    for (flaw, case) in cases {
        let agree = compare(&case, None, 200_000, 0);
        assert!(matches!(agree, Compared::Agree { .. }), "{agree:?}");
        let differ = compare(&case, Some(flaw), 200_000, 0);
        assert!(matches!(differ, Compared::Differ(_)), "{flaw:?}: {differ:?}");
    }
}
