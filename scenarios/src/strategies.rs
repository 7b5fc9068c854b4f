//! proptest strategies for faults, so that `proptest!` draws and shrinks them together with a program's parameters.
//!
//! ```
//! use proptest::prelude::*;
//! use vivarium::TestFailure;
//! use vivarium::prelude::*;
//! use vivarium::strategies::{kinds_of_faults, scripts};
//!
//! async fn register(zookeeper: ZooKeeper, attempts: u32) -> Result<(), String> {
//!     for _ in 0..attempts {
//!         zookeeper.connect().await;
//!         let _ = zookeeper.create("/me", b"", CreateMode::Ephemeral).await;
//!     }
//!     Ok(())
//! }
//!
//! proptest! {
//!     #![proptest_config(ProptestConfig::with_cases(5))]
//!     # /*
//!     #[test]
//!     # */
//!     fn registers(
//!         attempts in 1..5_u32,
//!         faults in kinds_of_faults(Faults::ALL),
//!         script in scripts(3, 2),
//!     ) {
//!         let program = move |zookeeper| register(zookeeper, attempts);
//!         let test = Test::new("registers", program).clients(2);
//!         let test = test.faults(faults).script(&script.to_string());
//!         let result = test.run_seeds(&SeedRange::count(3).expect("some"));
//!         // A rule may find nothing to act on: then the run shows less, and is none the worse.
//!         if let Err(failure @ TestFailure::Violated(_)) = result {
//!             return Err(TestCaseError::fail(failure.to_string()));
//!         }
//!     }
//! }
//! # registers();
//! ```

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use vivarium_model::id::{ClientId, ServerId};
use vivarium_model::time::Duration;
use vivarium_sim::FaultSet;
use vivarium_sim::scenario::script::{Lost, Moment, Rule, Script, What, When, Which, Who};

/// The time in which rules apply, in milliseconds: the duration of the faults by default.
const CHAOS: u64 = 20_000;

/// The most rules of a script.
const RULES: usize = 4;

/// Returns a strategy for sets of these kinds of faults, each with its rate. It shrinks to fewer kinds.
pub fn kinds_of_faults(of: FaultSet) -> impl Strategy<Value = FaultSet> {
    let all: Vec<_> = of.iter().collect();
    let sizes = 0..=all.len();
    subsequence(all, sizes).prop_map(move |kinds| {
        let with = |set: FaultSet, kind| set.with_rate(kind, of.rate(kind));
        kinds.into_iter().fold(FaultSet::NONE, with)
    })
}

/// Returns a strategy for scripts with up to four rules about this number of servers and clients: at any time of the
/// faults' default duration, and upon requests and leaders. It shrinks to fewer rules, earlier times and shorter spans.
///
/// # Panics
/// Panics if there is no server or no client.
pub fn scripts(servers: u8, clients: u8) -> impl Strategy<Value = Script> {
    assert!(servers > 0 && clients > 0, "a script needs a server and a client");
    let rules = vec(rule(servers, clients), 0..=RULES);
    rules.prop_map(|rules| Script::new(rules).expect("each rule makes sense"))
}

fn rule(servers: u8, clients: u8) -> impl Strategy<Value = Rule> {
    let lost = select(vec![Lost::Applied, Lost::Never, Lost::Pending]);
    let reply = (sent(clients), lost).prop_map(|(when, lost)| Rule {
        when,
        what: What::LoseReply(lost),
        lasts: None,
    });
    let lasting = (when(clients), lasting(servers, clients), option::of(span()));
    let lasting = lasting.prop_map(|(when, what, lasts)| Rule { when, what, lasts });
    let at_once = (when(clients), at_once(servers, clients));
    let at_once = at_once.prop_map(|(when, what)| Rule { when, what, lasts: None });
    prop_oneof![reply, lasting, at_once]
}

fn when(clients: u8) -> impl Strategy<Value = When> {
    let at = (0..CHAOS).prop_map(|at| When::At(Duration::from_millis(at)));
    let established = which().prop_map(|which| When::Upon(which, Moment::Established));
    prop_oneof![at, established, sent(clients)]
}

fn sent(clients: u8) -> impl Strategy<Value = When> {
    let request = option::of(select(vec!["create", "delete", "setData", "multi"]));
    (which(), option::of(client(clients)), request).prop_map(|(which, client, request)| {
        let request = request.map(str::to_string);
        When::Upon(which, Moment::Sends { client, request, path: None })
    })
}

fn which() -> impl Strategy<Value = Which> {
    (1..6_u32).prop_map(Which::Nth)
}

/// Faults that last.
fn lasting(servers: u8, clients: u8) -> impl Strategy<Value = What> {
    prop_oneof![
        who(servers).prop_map(What::Crash),
        who(servers).prop_map(What::PowerLoss),
        who(servers).prop_map(What::DiskFull),
        who(servers).prop_map(What::StallDisk),
        who(servers).prop_map(move |one| {
            let all = (1..=servers).map(|id| Who::Server(ServerId(id)));
            What::Partition(vec![vec![one], all.collect()])
        }),
        client(clients).prop_map(What::Pause),
        client(clients).prop_map(What::Kill),
    ]
}

/// Faults of a moment.
fn at_once(servers: u8, clients: u8) -> impl Strategy<Value = What> {
    prop_oneof![
        who(servers).prop_map(What::Rejoin),
        client(clients).prop_map(What::Cancel),
        client(clients).prop_map(What::Expire),
        client(clients).prop_map(What::Disconnect),
    ]
}

fn who(servers: u8) -> impl Strategy<Value = Who> {
    prop_oneof![Just(Who::Leader), (1..=servers).prop_map(|id| Who::Server(ServerId(id)))]
}

fn client(clients: u8) -> impl Strategy<Value = ClientId> {
    (1..=clients).prop_map(|id| ClientId(id.into()))
}

fn span() -> impl Strategy<Value = Duration> {
    (1..3_000_u64).prop_map(Duration::from_millis)
}
