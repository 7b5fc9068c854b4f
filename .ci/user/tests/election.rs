//! An election: each client leads once, when its turn comes.

use vivarium::prelude::*;

const ELECTION: &str = "/election";

/// What is seen of a client.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(crate = "vivarium::serde")]
enum Seen {
    Leads { term: Zxid, own: String },
    Resigns,
}

impl Observation for Seen {
    fn words(&self) -> String {
        match self {
            Seen::Leads { term, own } => format!("leads by {own}, term {term}"),
            Seen::Resigns => "resigns".into(),
        }
    }
}

/// What can be wrong with it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mistake {
    None,
    /// A create whose reply was lost is made again, although it may have been applied.
    CreatesAgain,
    /// Who is woken leads, whoever else is ahead.
    TrustsItsWakeUp,
}

/// Leads once. Whatever the session has, ends with it: then it begins anew in the next one.
async fn campaign(zk: ZooKeeper, mistake: Mistake) -> Result<(), String> {
    let led = in_sessions(&zk, |zk, session| lead_once(zk, session, mistake)).await;
    led.map_err(|error| error.to_string())
}

async fn lead_once(zk: ZooKeeper, session: SessionId, mistake: Mistake) -> Result<(), Error> {
    let (own, term) = candidate(&zk, session, mistake).await?;
    while let Some(ahead) = next_ahead(&zk, &own).await? {
        let (there, mut watch) = until_known(&zk, || zk.exists_watch(&ahead)).await?;
        if there.is_some() {
            watch.changed().await?;
            if mistake == Mistake::TrustsItsWakeUp {
                break;
            }
        }
    }
    zk.observe(Seen::Leads { term, own: own.clone() });
    // The work of a leader.
    zk.sleep(Duration::from_millis(500)).await;
    zk.observe(Seen::Resigns);
    ensure_deleted(&zk, &own).await
}

/// Its znode: path and czxid. The session in the name tells whose it is when the reply is lost.
async fn candidate(
    zk: &ZooKeeper,
    session: SessionId,
    mistake: Mistake,
) -> Result<(String, Zxid), Error> {
    let prefix = format!("{session}-");
    loop {
        let path = format!("{ELECTION}/{prefix}");
        match zk.create(&path, b"", CreateMode::EphemeralSequential).await {
            Ok((path, stat)) => return Ok((path, stat.czxid)),
            Err(Error::ConnectionLoss) => settle(zk).await?,
            Err(error) => return Err(error),
        }
        if mistake == Mistake::CreatesAgain {
            continue;
        }
        let all = until_known(zk, || zk.get_children(ELECTION)).await?;
        if let Some(name) = all.iter().find(|name| name.starts_with(&prefix)) {
            let path = format!("{ELECTION}/{name}");
            // Gone again only if the session is over, which the next request tells.
            if let Some(stat) = until_known(zk, || zk.exists(&path)).await? {
                return Ok((path, stat.czxid));
            }
        }
    }
}

/// The candidate right ahead of this one, if there is any.
async fn next_ahead(zk: &ZooKeeper, own: &str) -> Result<Option<String>, Error> {
    let number = |name: &str| name.rsplit('-').next().map(str::to_string);
    let all = until_known(zk, || zk.get_children(ELECTION)).await?;
    let ahead = all.into_iter().filter(|name| number(name) < number(own));
    let next = ahead.max_by_key(|name| number(name));
    Ok(next.map(|name| format!("{ELECTION}/{name}")))
}

/// Who leads is the first in line, whether those ahead of it would say so or not: a monitor that reads the
/// observation by its type.
#[derive(Clone, Hash)]
struct FirstInLine;

impl Declared for FirstInLine {
    const DECLARATION: Declaration<Self> =
        Declaration::everywhere("first in line", LooksBack::Tip, minds! { |this, view, event|
            #[needed]
            Observed(client, Seen::Leads { term, own }) => this.leads(view, client, *term, own),
        });
}

impl FirstInLine {
    fn leads(
        &self,
        view: View<'_>,
        client: ClientId,
        term: Zxid,
        own: &str,
    ) -> Result<(), Objection> {
        let tree = view.history.tree();
        for name in tree.children(ELECTION).unwrap_or_default() {
            let ahead = format!("{ELECTION}/{name}");
            if tree.stat(&ahead).is_some_and(|stat| stat.czxid < term) {
                return Err(self.objection(format!("{client} leads by {own} although {ahead} stands")));
            }
        }
        Ok(())
    }
}

fn election(mistake: Mistake) -> Test {
    Test::new("election", move |zk| campaign(zk, mistake))
        .setup(ELECTION)
        .clients(3)
        .monitor(never_two_at_once("leads", "resigns").token("term"))
        .monitor(eventually("leads").by_every_client())
        .monitor(no_ghosts_under(ELECTION))
}

#[test]
fn it_holds_through_every_fault() {
    election(Mistake::None).faults(Faults::ALL).seeds(300).run();
}

#[test]
fn it_holds_in_every_order_of_a_lost_connection() {
    election(Mistake::None).explore(&Exploration::new().clients(2).lost(1));
}

#[test]
fn it_holds_in_every_order_of_an_expiry() {
    election(Mistake::None).explore(&Exploration::new().clients(2).expiries(1));
}

#[test]
fn who_leads_is_the_first_in_line() {
    election(Mistake::None).monitor(FirstInLine).faults(Faults::ALL).seeds(300).run();
    election(Mistake::None).monitor(FirstInLine).explore(&Exploration::new().clients(2).expiries(1));
}

#[test]
#[should_panic(expected = "leads by /election/")]
fn a_sweep_finds_who_leads_out_of_turn() {
    let out_of_turn = Test::new("out of turn", |zk| campaign(zk, Mistake::TrustsItsWakeUp));
    out_of_turn.setup(ELECTION).clients(3).monitor(FirstInLine).faults(Faults::ALL).seeds(2_000).run();
}

#[test]
#[should_panic(expected = "first in line")]
fn a_search_finds_who_leads_out_of_turn() {
    let out_of_turn = Test::new("out of turn", |zk| campaign(zk, Mistake::TrustsItsWakeUp));
    let budget = Exploration::new().clients(3).expiries(1);
    out_of_turn.setup(ELECTION).monitor(FirstInLine).explore(&budget);
}

#[test]
#[should_panic(expected = "VIOLATED: election")]
fn a_sweep_finds_that_it_creates_again() {
    election(Mistake::CreatesAgain).faults(Faults::ALL).seeds(300).run();
}

#[test]
#[should_panic(expected = "VIOLATED: election")]
fn a_search_finds_that_it_creates_again() {
    election(Mistake::CreatesAgain).explore(&Exploration::new().clients(2).lost(1));
}

#[test]
#[should_panic(expected = "never two at once")]
fn a_sweep_finds_that_it_trusts_its_wake_up() {
    election(Mistake::TrustsItsWakeUp).faults(Faults::ALL).seeds(2_000).run();
}

#[test]
#[should_panic(expected = "never two at once")]
fn a_search_finds_that_it_trusts_its_wake_up() {
    election(Mistake::TrustsItsWakeUp).explore(&Exploration::new().clients(3).expiries(1));
}
