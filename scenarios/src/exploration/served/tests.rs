//! Walks at every grain: random steps, the way back, saved ways, and requests that make no sense.

use crate::catalogue::{Entry, catalogue};
use crate::exploration::{self, Exploration};
use crate::sweeping;
use crate::walking::{Caller, Judged, Listener, Refused, Walking, answer, serve};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use tiny_http::Method;
use vivarium_model::case::Case;
use vivarium_model::config::ServerOptions;
use vivarium_model::release::Release;
use vivarium_model::step::Step;
use vivarium_model::time::Time;
use vivarium_reports::case_file;
use vivarium_sim::replica::Replica;
use vivarium_sim::walked::{Kind, Origin};
use vivarium_sim::{HostKind, RunOptions, Scenario};

/// Saves ways in a folder.
struct InFolder(PathBuf);

impl Caller for InFolder {
    fn judge(&self, origin: &Origin, way: Vec<(Time, Step)>) -> Result<Judged, String> {
        exploration::judged(origin, way)
    }

    fn path(&self, _case: &Case, which: &str) -> PathBuf {
        self.0.join(format!("{which}.json"))
    }

    fn replay(&self, path: &str) -> String {
        format!("replay {path}")
    }
}

fn scenario(name: &str, bugs: &[String]) -> Scenario {
    let entries = catalogue();
    let named = |entry: &&Entry| entry.name == name;
    let entry = entries.iter().find(named).expect("it is in the catalogue");
    (entry.build)(&entry.switches(bugs).expect("its switches"))
}

fn begin(scenario: Option<Scenario>, case: &Case) -> Walking {
    let folder = std::env::temp_dir();
    Walking::new(scenario, case, "a walk".to_owned(), Box::new(InFolder(folder)))
}

/// Begins a walk where a search begins.
fn of_search(name: &str) -> Walking {
    let faults = Exploration::new().lost(1).kills(1).expiries(1).cancels(1);
    let of_servers = matches!(name, "broadcast" | "election");
    let exploration = if of_servers { Exploration::new() } else { faults };
    let begun = exploration::beginning(&scenario(name, &[]), &[], &exploration);
    let (scenario, case) = begun.expect("it can be explored");
    begin(Some(scenario), &case)
}

/// Returns the case of a seed.
fn swept(scenario: &Scenario, bugs: &[String], seed: u64) -> Case {
    let options = RunOptions { host: HostKind::Direct, keep_steps: true, trace_last: 0 };
    sweeping::case(scenario, bugs, &vivarium_sim::run(scenario, seed, &options))
}

/// Returns the case of servers with clients outside.
fn served() -> Case {
    let mut replica = Replica::new(3, Release::Repaired.bugs(), ServerOptions::default());
    for server in [1, 2] {
        let connection = replica.open(vivarium_model::id::ServerId(server));
        replica.close(connection);
    }
    replica.case()
}

/// Takes a number below a bound from a seed, and changes the seed.
fn roll(seed: &mut u64, below: usize) -> usize {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) as usize % below.max(1)
}

/// Takes random steps from a place, and returns the last place. In each, the film is of the run that is judged.
fn wander(walking: &mut Walking, from: usize, steps: usize, mut seed: u64) -> usize {
    let mut place = from;
    for _ in 0..steps {
        let (judged, position) = walking.look(place).expect("there is such a place");
        assert_eq!(judged.skipped, 0, "every step that was offered is possible");
        assert_eq!(position.film.hash, judged.hash, "the film is of another run");
        let kinds: BTreeSet<Kind> = position.choices.iter().map(|choice| choice.kind).collect();
        // A fault now and then, so that most ways get somewhere.
        let is_calm = |kind: Kind| kind != Kind::Fault;
        let calm = kinds.iter().any(|kind| is_calm(*kind)) && roll(&mut seed, 8) > 0;
        let all: Vec<usize> = (0..position.choices.len())
            .filter(|at| !calm || is_calm(position.choices[*at].kind))
            .collect();
        let Some(choice) = all.get(roll(&mut seed, all.len())) else { return place };
        place = walking.take(place, *choice).expect("it was offered");
    }
    place
}

/// Goes back to the beginning, and sees in each place what was seen there before.
fn check_way_back(walking: &Walking, last: usize) {
    let mut place = last;
    while let Some(before) = walking.walk.back(place) {
        let (_, there) = walking.look(before).expect("it was there before");
        let way = walking.walk.way(place);
        let (_, prefix) = way.split_last().expect("it has a step");
        let again = walking.walk.origin().look(prefix.to_vec()).expect("it is possible");
        assert_eq!(there.fingerprint, again.fingerprint);
        place = before;
    }
    assert_eq!(place, 0, "every way leads back to the beginning");
}

/// Saves a way, and replays it.
fn check_saved(walking: &Walking, place: usize) {
    let case = walking.case(place).expect("there is such a place");
    assert_eq!(case.check(), Ok(()), "a replay accepts the case");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("way.json");
    case_file::save(&path, &case).expect("it can be written");
    let read = case_file::load(&path).expect("it was just written");
    let origin = Origin::new(walking.walk.origin().scenario().cloned(), &read);
    let judged = exploration::judged(&origin, read.steps.clone()).expect("it can be replayed");
    assert_eq!((judged.skipped, judged.hash), (0, read.hash), "the replay is another run");
    assert_eq!(judged.objection, read.violation);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    #[test]
    fn random_ways_from_the_beginning_of_a_search(seed: u64) {
        for name in ["lock", "leader", "queue", "double-barrier", "broadcast", "election"] {
            let mut walking = of_search(name);
            let last = wander(&mut walking, 0, 40, seed);
            check_way_back(&walking, last);
            check_saved(&walking, last);
        }
    }

    #[test]
    fn random_ways_that_leave_a_recorded_run(seed in 0_u64..1_000, leaves in 0_usize..400) {
        for name in ["lock", "churn", "watches"] {
            let scenario = scenario(name, &[]);
            let case = swept(&scenario, &[], seed);
            let mut walking = begin(Some(scenario), &case);
            let from = leaves.min(case.steps.len());
            let last = wander(&mut walking, from, 25, seed);
            check_saved(&walking, last);
        }
    }

    #[test]
    fn random_ways_of_servers_with_clients_outside(seed: u64) {
        let case = served();
        let mut walking = begin(None, &case);
        for from in [0, case.steps.len() / 2, case.steps.len()] {
            let last = wander(&mut walking, from, 20, seed);
            check_saved(&walking, last);
        }
    }
}

/// The recorded steps of a violation can be taken one by one, and the violation comes with the last one.
#[test]
fn the_recorded_way_leads_to_its_violation() {
    let bugs = ["NoGuid".to_owned()];
    let scenario = scenario("lock", &bugs);
    let case = swept(&scenario, &bugs, 1);
    let wanted = case.violation.clone().expect("seed 1 violates a property");
    let walking = begin(Some(scenario), &case);
    let last = case.steps.len();
    assert_eq!(walking.walk.recorded().last(), Some(&last));
    assert_eq!(walking.walk.next_recorded(0), Some(1));
    assert_eq!(walking.walk.next_recorded(last), None);
    let before = walking.state(last - 1).expect("it is on the way");
    assert_eq!(before.picture.violation, None);
    let recorded = before.next.iter().chain(&before.faults).flat_map(|group| &group.choices);
    assert_eq!(recorded.filter(|offer| offer.recorded).count(), 1, "the next step is marked");
    let state = walking.state(last).expect("it is on the way");
    let violation = state.picture.violation.expect("the way ends with it");
    assert_eq!((violation.property, violation.saw), (wanted.property, wanted.saw));
    assert!(state.next.is_empty() && state.faults.is_empty(), "the run ends there");
}

/// A program's place is the line of its own source.
#[test]
fn the_lines_of_awaits_are_those_of_the_programs() {
    let mut walking = of_search("lock");
    let last = wander(&mut walking, 0, 12, 3);
    let awaits = walking.state(last).expect("there is such a place").awaits;
    let places: Vec<&String> = awaits.iter().flat_map(|it| &it.places).collect();
    // A build without line tables shows none.
    assert!(places.iter().all(|place| place.contains("recipes/src/")), "{places:?}");
}

#[test]
fn a_step_taken_twice_leads_to_one_place() {
    let mut walking = of_search("lock");
    let first = walking.take(0, 0).expect("a program can start");
    let other = walking.take(0, 1).expect("another one too");
    assert_ne!(first, other);
    assert_eq!(walking.take(0, 0), Ok(first));
    assert_eq!((walking.walk.back(first), walking.walk.back(0)), (Some(0), None));
}

#[test]
fn requests_that_make_no_sense_get_one_sentence() {
    let mut walking = of_search("lock");
    let mut ask = |method: Method, url: &str| {
        let answer = answer(&mut walking, &method, url);
        let said: serde_json::Value = serde_json::from_str(&answer.text).unwrap_or_default();
        (answer.status, said["error"].as_str().unwrap_or_default().to_owned())
    };
    let get = Method::Get;
    assert_eq!(ask(get.clone(), "/state?at=0"), (200, String::new()));
    let none = "there is no place 7 in this walk: open the page without `?at=7`";
    assert_eq!(ask(get.clone(), "/state?at=7"), (404, none.to_owned()));
    assert_eq!(ask(get.clone(), "/?at=7"), (404, none.to_owned()));
    assert_eq!(ask(Method::Post, "/save?at=7"), (404, none.to_owned()));
    let none = "there is no step 99 here: the last one is 1";
    assert_eq!(ask(Method::Post, "/take?at=0&choice=99"), (404, none.to_owned()));
    let none = "there is nothing at `/favicon.ico`: the page is at `/`";
    assert_eq!(ask(get.clone(), "/favicon.ico"), (404, none.to_owned()));
    let wrong = "`at=x` is not a number";
    assert_eq!(ask(get.clone(), "/state?at=x"), (400, wrong.to_owned()));
    assert_eq!(ask(Method::Post, "/take?at=0&choice=-1").0, 400);
    let missing = "the request has no parameter `at`";
    assert_eq!(ask(get.clone(), "/state"), (400, missing.to_owned()));
    assert_eq!(ask(get, "/take?at=0&choice=0"), (405, "`/take` takes only POST".to_owned()));
    assert_eq!(ask(Method::Delete, "/").0, 405);
}

#[test]
fn a_way_that_cannot_be_written_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("file");
    std::fs::write(&file, "").expect("it can be written");
    let scenario = scenario("lock", &[]);
    let begun = exploration::beginning(&scenario, &[], &Exploration::new());
    let (scenario, case) = begun.expect("it can be explored");
    let caller = Box::new(InFolder(file));
    let walking = Walking::new(Some(scenario), &case, "a walk".to_owned(), caller);
    assert!(matches!(walking.save(0), Err(Refused::Failed(_))));
}

/// Sends a request, and returns the answer.
fn send(address: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("it is served");
    stream.write_all(request.as_bytes()).expect("it is written");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it is text");
    answer
}

#[test]
fn the_page_is_served_to_its_own_reader_only() {
    let listener = Listener::open("127.0.0.1:0").expect("there is a free port");
    let address = listener.url().trim_start_matches("http://").trim_end_matches('/').to_owned();
    std::thread::scope(|scope| {
        let server = scope.spawn(|| serve(&mut of_search("lock"), &listener));
        let get = |path: &str, host: &str, more: &str| {
            let head =
                format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n{more}Connection: close\r\n");
            send(&address, &format!("{head}\r\n"))
        };
        let page = get("/", &address, "");
        assert!(page.starts_with("HTTP/1.1 200") && page.contains("id=\"walk\""));
        let own = get("/state?at=0", &address, &format!("Origin: http://{address}\r\n"));
        assert!(own.starts_with("HTTP/1.1 200"), "{own}");
        let other = get("/state?at=0", &address, "Origin: http://example.org\r\n");
        assert!(other.starts_with("HTTP/1.1 403"), "{other}");
        let renamed = get("/state?at=0", "example.org", "");
        assert!(renamed.starts_with("HTTP/1.1 403"), "{renamed}");
        listener.close();
        server.join().expect("it ends");
    });
}

#[test]
fn an_address_in_use_is_named() {
    let listener = Listener::open("127.0.0.1:0").expect("there is a free port");
    let address = listener.url().trim_start_matches("http://").trim_end_matches('/').to_owned();
    let sentence = Listener::open(&address).err().expect("it is in use");
    assert!(sentence.starts_with(&format!("no browser can be served at `{address}`: ")));
}
