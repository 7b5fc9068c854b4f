//! The clients that know one server, and the arrival of held packets.

use super::*;
use proptest::prelude::*;
use vivarium_model::id::{ClientConnection, Machine};

const CUT: Blocker =
    Blocker::Cut { from: Machine::Client(ClientId(1)), to: Machine::Server(ServerId(1)) };

fn config() -> Config {
    Config::new(5, 3)
}

fn connection(slot: u8) -> ClientConnection {
    ClientConnection { client: ClientId(1), slot }
}

fn late(seed: u64) -> Retransmissions {
    let transport = Transport { one_server: BTreeMap::new(), late: true };
    Retransmissions::new(&transport, &Seeds::new(seed)).expect("it is late")
}

fn seconds(at: u64) -> Time {
    Time::ZERO + Duration::from_secs(at)
}

#[test]
fn a_transport_is_printed() {
    let one_server = BTreeMap::from([(ClientId(2), ServerId(3))]);
    insta::assert_snapshot!(Transport { one_server, late: true }, @r"
    fault              connect strings of one server: client 2 knows server 3
    fault              late retransmission: by up to 4s
    ");
    assert_eq!(Transport::default().to_string(), "");
}

#[test]
fn without_the_fault_nothing_is_late() {
    assert!(Retransmissions::new(&Transport::default(), &Seeds::new(1)).is_none());
}

proptest! {
    /// At least one client knows one server, and each such server is up at the end.
    #[test]
    fn the_one_server_is_one_that_stays(seed: u64, down in 1..=5u8, cut_off in 1..=5u8) {
        let aftermath = Aftermath {
            left_down: vec![ServerId(down)],
            left_cut_off: vec![ServerId(cut_off)],
            awaits_expiry: false,
        };
        let picked = pick(&config(), &aftermath, &mut Seeds::new(seed).stream("picks", 0));
        prop_assert!(!picked.is_empty());
        prop_assert!(picked.values().all(|server| !aftermath.is_gone(*server)));
    }

    /// Directions continue independently, each after at most the time for which it was held.
    #[test]
    fn packets_held_by_a_cut_arrive_within_the_time_they_were_held(seed: u64, held in 1..20u64) {
        let mut late = late(seed);
        let steps = [Step::ToServer(connection(0)), Step::ToServer(connection(1))];
        for step in steps {
            late.blocked(seconds(1), step, CUT);
            late.blocked(seconds(1) + Duration::from_millis(1), step, CUT);
        }
        late.blocked(seconds(1), Step::ToClient(connection(0)), Blocker::Paused(ClientId(1)));
        let now = seconds(1 + held);
        late.unblocked(now, CUT);
        for step in steps {
            let most = Duration::from_secs(held).min(LONGEST_DELAY);
            if let Some(until) = late.until(now, &step) {
                prop_assert!(until.since(now) <= most);
                prop_assert_eq!(late.until(until, &step), None);
                prop_assert_eq!(late.until(now, &step), None, "it has gone on");
            }
        }
        prop_assert_eq!(late.until(now, &Step::ToClient(connection(0))), None);
    }
}

#[test]
fn a_new_connection_can_overtake_the_end_of_the_old_one() {
    let overtakes = |seed: &u64| {
        let mut late = late(*seed);
        let (old, new) = (Step::ToServer(connection(0)), Step::ToServer(connection(1)));
        late.blocked(seconds(1), old, CUT);
        late.blocked(seconds(2), new, CUT);
        late.unblocked(seconds(3), CUT);
        late.until(seconds(3), &old) > late.until(seconds(3), &new)
    };
    let overtaken = (0..100).filter(overtakes).count();
    assert!((50..=90).contains(&overtaken), "in {overtaken} of 100");
}

#[test]
fn the_server_learns_of_every_other_break_late() {
    let is_late = |seed: &u64| {
        let mut late = late(*seed);
        let connection = connection(0);
        late.broken(seconds(1), &Step::BreakClient { connection, to_server: 0, to_client: 0 });
        assert_eq!(late.until(seconds(1), &Step::ToClient(connection)), None);
        late.until(seconds(1), &Step::ToServer(connection)).is_some()
    };
    let times = (0..1_000).filter(is_late).count();
    assert!((440..=560).contains(&times), "{times} of 1,000");
}
