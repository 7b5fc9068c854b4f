//! Pictures of real runs, checked against what another replay of the same steps says.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use vivarium::catalogue::{Entry, catalogue};
use vivarium::picturing::{About, picture};
use vivarium_model::case::{Case, GrainKind};
use vivarium_model::effect::{Effect, Effects, Status};
use vivarium_model::event::Event;
use vivarium_model::id::{ClientId, Machine, ServerId};
use vivarium_model::note::Note;
use vivarium_model::packet::Delivered;
use vivarium_model::path::RESERVED;
use vivarium_model::step::Step;
use vivarium_model::tree::DataTree;
use vivarium_model::world::World;
use vivarium_reports::case_file;
use vivarium_reports::picture::page::page;
use vivarium_reports::picture::perfetto::trace_events;
use vivarium_reports::picture::shiviz::shiviz;
use vivarium_sim::film::{Film, Packet, film};
use vivarium_sim::host::DirectHost;
use vivarium_sim::{Drawn, HostKind, RunOptions, Scenario};

fn scenario(name: &str, bugs: &[String]) -> Scenario {
    let entries = catalogue();
    let named = |entry: &&Entry| entry.name == name;
    let entry = entries.iter().find(named).expect("it is in the catalogue");
    (entry.build)(&entry.switches(bugs).expect("its switches"))
}

/// Runs a seed, and returns its case.
fn swept(scenario: &Scenario, seed: u64, bugs: &[String]) -> Case {
    let options = RunOptions { host: HostKind::Direct, keep_steps: true, trace_last: 0 };
    let run = vivarium_sim::on_fresh_thread(|| vivarium_sim::run(scenario, seed, &options));
    Case {
        version: Case::VERSION,
        scenario: scenario.name.clone(),
        grain: GrainKind::Ensemble,
        parameters: run.parameters,
        seed: Some(seed),
        bugs: bugs.to_vec(),
        config: run.config,
        outside: Vec::new(),
        steps: run.recorded,
        hash: run.hash,
        violation: run.violation.map(|violation| violation.objection),
    }
}

/// Lets the command line search, and returns the case that it writes.
fn explored(arguments: &str) -> Case {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(env!("CARGO_BIN_EXE_vivarium"));
    command.current_dir(&folder).arg("explore").args(arguments.split_whitespace());
    let output = command.output().expect("it runs");
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let mut files = std::fs::read_dir(folder.path().join("cases")).expect("a case");
    let file = files.next().expect("a case").expect("its name").path();
    case_file::load(Path::new(&file)).expect("it was just written")
}

fn filmed(scenario: &Scenario, case: &Case) -> Film {
    let film = film(scenario, case, HostKind::Direct, u64::MAX).expect("the case is right");
    assert_eq!(film.hash, case.hash, "the film is of another run");
    assert_eq!(film.frames.len(), case.steps.len() + 1, "no step was skipped");
    film
}

/// Checks everything that needs no other replay.
fn check(film: &Film, case: &Case) {
    assert!(film.unexplained.is_empty(), "packets without a sending: {:?}", film.unexplained);
    check_packets(film);
    if case.grain == GrainKind::Ensemble {
        check_trees(film, case);
    }
    let violation = case.violation.clone().map(|objection| (objection, case.steps.len() as u64));
    let picture = picture(film, About { violation, ..About::default() });
    // Each of them fails for a picture that is not complete.
    assert!(page(&picture).contains("</html>"));
    assert!(trace_events(&picture).contains("traceEvents"));
    assert!(shiviz(&picture).lines().count() > film.frames.len());
}

/// Checks that each step that reads something has one packet, which was sent earlier, by the machine that the note
/// names, and that the note has the words of the packet.
fn check_packets(film: &Film) {
    let mut read: BTreeMap<usize, Vec<&Packet>> = BTreeMap::new();
    for packet in &film.packets {
        assert!(packet.ended.is_none_or(|ended| packet.sent < ended), "{packet:?}");
        assert!(packet.ended.is_some() || !packet.lost, "{packet:?}");
        if let Some(ended) = packet.ended.filter(|_| !packet.lost) {
            read.entry(ended).or_default().push(packet);
        }
    }
    for (at, frame) in film.frames.iter().enumerate() {
        let step = frame.line.as_ref().map(|line| &line.step);
        let packets = read.remove(&at).unwrap_or_default();
        if !step.is_some_and(reads) {
            assert!(packets.is_empty(), "{step:?} reads {packets:?}");
            continue;
        }
        let [packet] = packets[..] else { panic!("{step:?} reads {packets:?}") };
        assert_eq!(Some(&packet.to), frame.places.first(), "{step:?} reads {packet:?}");
        let note = frame.line.as_ref().and_then(|line| line.notes.first());
        if let Some((from, to, words)) = note.and_then(ends) {
            assert_eq!((packet.from, packet.to), (from, to), "{step:?} reads {packet:?}");
            assert!(words.is_none_or(|words| words == packet.words), "{note:?}: {packet:?}");
        }
    }
}

fn reads(step: &Step) -> bool {
    matches!(
        step,
        Step::ToServer(_)
            | Step::ToClient(_)
            | Step::ToLeader(_)
            | Step::ToLearner(_)
            | Step::Vote { .. }
            | Step::Message { .. }
            | Step::Serve { .. }
            | Step::Late(_)
    )
}

/// Returns sender, receiver and, unless it is the end of the connection, the packet that a note is about.
fn ends(note: &Note) -> Option<(Machine, Machine, Option<String>)> {
    fn words<T: ToString>(delivered: &Delivered<T>) -> Option<String> {
        match delivered {
            Delivered::Packet(packet) => Some(packet.to_string()),
            Delivered::End { .. } => Some("end of the connection".to_owned()),
        }
    }
    let (server, client) = (Machine::Server, Machine::Client);
    match note {
        Note::FromClient { server: to, client: from, delivered } => {
            Some((client(*from), server(*to), words(delivered)))
        }
        Note::FromServer { client: to, server: from, delivered, .. } => {
            Some((server(from.unwrap_or(ServerId(1))), client(*to), words(delivered)))
        }
        Note::FromLearner { leader, learner, delivered } => {
            Some((server(*learner), server(*leader), words(delivered)))
        }
        Note::FromLeader { learner, leader, delivered } => {
            Some((server(*leader), server(*learner), words(delivered)))
        }
        Note::Notified { server: to, from, notification } => {
            Some((server(*from), server(*to), Some(notification.to_string())))
        }
        Note::Takes { client: from, packet } => {
            Some((client(*from), server(ServerId(1)), Some(packet.to_string())))
        }
        _ => None,
    }
}

/// Checks that at the end each serving server has the tree of the committed transactions up to its last zxid.
fn check_trees(film: &Film, case: &Case) {
    if case.violation.is_some() {
        return;
    }
    let lines = film.frames.iter().filter_map(|frame| frame.line.as_ref());
    let committed: BTreeMap<_, _> = lines
        .flat_map(|line| &line.events)
        .filter_map(|event| match event {
            Event::Committed { txn, .. } => Some((txn.zxid, Arc::clone(txn))),
            _ => None,
        })
        .collect();
    for server in case.config.server_ids() {
        let state = film.state_after(film.frames.len() - 1, Machine::Server(server));
        if !state[0].contains("serving") && !state[0].starts_with("LEADING") {
            continue;
        }
        let mut tree = case.config.setup.tree();
        let last = format!("last processed zxid {}", tree.last_processed());
        let mut fits = state.contains(&last.as_str());
        for txn in committed.values() {
            if fits {
                break;
            }
            let _ = tree.apply(txn);
            fits =
                state.contains(&format!("last processed zxid {}", tree.last_processed()).as_str());
        }
        assert!(fits, "{server} has a zxid that was not committed: {state:?}");
        assert_eq!(znodes(&state), paths(&tree), "{server}");
    }
}

/// Returns the paths in a state.
fn znodes(state: &[&str]) -> Vec<String> {
    let znodes = state.iter().filter_map(|line| line.strip_prefix("znode "));
    znodes.map(|rest| rest.split(' ').next().unwrap_or_default().to_owned()).collect()
}

fn paths(tree: &DataTree) -> Vec<String> {
    let own = |path: &str| RESERVED.contains(&path);
    let paths = tree.nodes().map(|(path, _)| path.as_str());
    paths.filter(|path| !own(path)).map(str::to_owned).collect()
}

/// Takes the steps in another world, where each packet that is sent makes its reading due, and compares: the packets
/// of each step, by reader; and at the end the trees.
fn compare_with_what_is_due(film: &Film, scenario: &Scenario, case: &Case) {
    let drawn = Drawn::draw(scenario, case.seed.expect("it was swept"));
    let host = DirectHost::new((scenario.programs)(&drawn.run));
    let mut world = World::new(Arc::new(case.config.clone()), host, Vec::new());
    let mut effects = Effects::hashed();
    world.begin(&mut effects);
    for (at, frame) in film.frames.iter().enumerate() {
        if let Some(line) = &frame.line {
            effects.clear();
            let status = world.apply(line.at, &line.step, &mut effects);
            assert_eq!(status, Ok(Status::Done), "{}", line.step);
        }
        let due = effects.effects.iter().filter_map(|effect| match effect {
            Effect::Due(step) => reader(step),
            _ => None,
        });
        let mut due: Vec<Reader> = due.collect();
        // A notification that replaces another one is not due a second time.
        let sent = film.packets.iter().filter(|packet| packet.sent == at && !is_vote(packet));
        let mut sent: Vec<Reader> = sent.map(|packet| Reader::of(packet.to)).collect();
        due.sort_unstable();
        sent.sort_unstable();
        // A fault can send the end of a connection to a machine that it stops: that is never under way.
        if frame.line.as_ref().is_some_and(|line| line.step.is_fault()) {
            due.retain(|reader| sent.contains(reader));
            due.truncate(sent.len());
        }
        assert_eq!(sent, due, "frame {at}: {:?}", frame.line);
    }
    for server in case.config.server_ids() {
        if let Some(process) = world.ensemble().server(server) {
            let state = film.state_after(film.frames.len() - 1, Machine::Server(server));
            assert_eq!(znodes(&state), paths(process.tree()), "{server}");
            let logged = world.ensemble().disk(server).log().last().map(|txn| txn.to_string());
            let last = state.iter().rfind(|line| line.starts_with("log: "));
            let last = last.map(|line| line.trim_start_matches("log: "));
            let last = last.map(|line| line.trim_end_matches(" (not yet durable)").to_owned());
            assert_eq!(last, logged, "{server}");
        }
    }
}

/// Who reads a packet. A step that reads at a server names its connection only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Reader {
    Client(ClientId),
    AServer,
}

impl Reader {
    fn of(machine: Machine) -> Reader {
        match machine {
            Machine::Client(client) => Reader::Client(client),
            Machine::Server(_) => Reader::AServer,
        }
    }
}

fn reader(step: &Step) -> Option<Reader> {
    match step {
        Step::ToClient(connection) => Some(Reader::Client(connection.client)),
        Step::ToServer(_) | Step::ToLeader(_) | Step::ToLearner(_) => Some(Reader::AServer),
        _ => None,
    }
}

fn is_vote(packet: &Packet) -> bool {
    packet.words.contains(", round ")
}

fn lock_and_churn() -> impl Iterator<Item = (Scenario, Case)> {
    let seeds = [("lock", 0..6), ("churn", 0..2)];
    seeds.into_iter().flat_map(|(name, seeds)| {
        let scenario = scenario(name, &[]);
        seeds.map(move |seed| {
            let case = swept(&scenario, seed, &[]);
            (scenario.clone(), case)
        })
    })
}

#[test]
fn the_picture_of_a_simulated_run_is_complete_and_true() {
    for (scenario, case) in lock_and_churn() {
        let film = filmed(&scenario, &case);
        check(&film, &case);
        compare_with_what_is_due(&film, &scenario, &case);
    }
}

#[test]
fn a_violation_is_at_the_last_step_and_names_its_client() {
    let bugs = ["NoGuid".to_owned()];
    let scenario = scenario("lock", &bugs);
    let case = swept(&scenario, 1, &bugs);
    let film = filmed(&scenario, &case);
    check(&film, &case);
    let objection = case.violation.clone().expect("seed 1 violates");
    let violation = Some((objection, case.steps.len() as u64));
    let picture = picture(&film, About { violation, ..About::default() });
    let violation = picture.violation.expect("it was given");
    assert_eq!(violation.step, Some(film.frames.len() - 1));
    let named: Vec<&str> =
        violation.lanes.iter().map(|lane| picture.lanes[*lane].name.as_str()).collect();
    assert_eq!(named, ["client 4"]);
    let bars =
        picture.bars.iter().filter(|bar| bar.to.is_none() && violation.lanes.contains(&bar.lane));
    let labels: Vec<&str> = bars.map(|bar| bar.label.as_str()).collect();
    assert_eq!(labels, ["waits for /lock/lock-0000000010"]);
}

/// Two shortest ways lead to the violation: the connection is lost after the server carried out the create, or before
/// it, and the create is carried out late. Which one a search reports depends on the clients that it takes for each
/// other.
#[test]
fn the_picture_of_a_run_over_the_service_grain_is_complete() {
    let case = explored("lock --lost 1 --bug NoGuid --no-symmetry");
    let film = filmed(&scenario("lock", &case.bugs), &case);
    check(&film, &case);
    let lost: Vec<&str> = film
        .packets
        .iter()
        .filter(|packet| packet.lost)
        .map(|packet| packet.words.as_str())
        .collect();
    let [lost] = lost[..] else { panic!("one reply is lost: {lost:?}") };
    assert!(lost.starts_with("reply xid 1"), "{lost}");
    assert_eq!(film.name(film.machines[0]), "ZooKeeper");
}

#[test]
fn a_request_that_is_carried_out_late_is_read_then() {
    let case = explored("lock --lost 1 --bug NoGuid");
    let film = filmed(&scenario("lock", &case.bugs), &case);
    check(&film, &case);
    let late = case.steps.iter().position(|(_, step)| matches!(step, Step::Late(_)));
    let late = late.expect("the create is carried out late") + 1;
    let packets = film.packets.iter().filter(|packet| !packet.lost);
    let read: Vec<&str> = packets
        .filter(|packet| packet.ended == Some(late))
        .map(|packet| packet.words.as_str())
        .collect();
    assert!(matches!(read[..], [words] if words.starts_with("request xid 1: create ")), "{read:?}");
}

#[test]
fn the_picture_of_servers_alone_is_complete() {
    for arguments in [
        "broadcast --servers 2 --txns 1 --crashes 1 --bug TruncKeepsRecordBeyond",
        "broadcast --servers 2 --txns 1 --crashes 1 --bug AcksOutliveReconnect",
    ] {
        let case = explored(arguments);
        check(&filmed(&scenario("broadcast", &case.bugs), &case), &case);
    }
}
