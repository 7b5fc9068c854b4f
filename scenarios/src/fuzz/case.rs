//! A generated case: small programs, what is watched of them, and what may go wrong.

use std::fmt;
use vivarium_sim::every::programs::Budget;

/// Where programs act: few paths, so that they collide.
pub const PATHS: [&str; 3] = ["/a", "/a/b", "/c"];

/// What is asked of ZooKeeper, or of the surroundings, in one call. Paths are numbers in [`PATHS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Call {
    /// A persistent znode.
    Create(usize),
    /// An ephemeral one.
    CreateEphemeral(usize),
    /// A persistent one with a number at the end of its name.
    CreateSequential(usize),
    /// A container.
    CreateContainer(usize),
    /// One that goes by itself, if the leader deletes any.
    CreateTtl(usize),
    /// Whatever version it has.
    Delete(usize),
    /// With this byte for content.
    SetData(usize, u8),
    /// The same, if the znode was never set.
    SetFirst(usize, u8),
    /// Whether a znode is there.
    Exists(usize),
    /// Content and versions.
    GetData(usize),
    /// The names of the children.
    GetChildren(usize),
    /// How many znodes are below.
    CountAll(usize),
    /// Its own session's.
    Ephemerals,
    /// The version of the ACL.
    GetAcl(usize),
    /// Takes the right to write away from everybody.
    SetAcl(usize),
    /// A sync.
    Sync,
    /// A create and a delete of the same znode: the tree afterwards is as if there was none.
    CreateAndDelete(usize),
    /// A check of the first and a create of the second.
    CheckAndCreate(usize, usize),
    /// Waits for a session, a new one if need be.
    Connect,
    /// Ends the session.
    Close,
    /// For a minute.
    Sleep,
    /// A random number.
    Random,
    /// The time, in minutes.
    Now,
    /// A message of another client.
    Receive,
    /// A write to a resource outside ZooKeeper.
    Resource,
    /// Proves an identity that servers take.
    Auth,
    /// Proves one that they refuse.
    WrongAuth,
}

/// Which read leaves a watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Watching {
    /// `exists`.
    Exists,
    /// `getData`.
    Data,
    /// `getChildren`.
    Children,
    /// `addWatch`.
    Persistent,
    /// `addWatch`, of all that is below too.
    Recursive,
}

/// One step of a program. What comes of each is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Statement {
    /// Makes a call.
    Do(Call),
    /// Again, up to twice, where the connection is lost.
    Retry(Call),
    /// Both at once.
    Join(Call, Call),
    /// Both at once, until the first answers; the other one is dropped.
    Race(Call, Call),
    /// For at most a minute.
    Timeout(Call),
    /// Unless it is cancelled.
    Cancellable(Call),
    /// Beside the rest of the program.
    Spawn(Call),
    /// Leaves a watch; it takes the place of the one before.
    Watch(Watching, usize),
    /// Waits for the watch.
    Await,
    /// Waits for it, or for the other call.
    AwaitOr(Call),
    /// Takes all watches of a path away.
    Unwatch(usize),
    /// The changes of the session that have happened.
    States,
    /// The next change of the session.
    NextState,
    /// Sends a message to another client (its number from 0, among the others).
    Send(usize),
    /// Says something to the monitors.
    Say(u8),
    /// Fails if the last call was answered with this.
    FailOn(Answer),
}

/// Answers that a program may take for failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    /// The outcome is unknown.
    ConnectionLoss,
    /// The session is over.
    SessionExpired,
    /// The znode is not there.
    NoNode,
    /// It is there already.
    NodeExists,
}

/// What is watched, and so what makes one run another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Watched {
    /// What each program has written down at its end.
    Ends,
    /// What each program says and writes down, client by client.
    Words,
    /// The same, in the order among clients.
    Order,
    /// What each program says and writes down, and the order in which requests are sent.
    Requests,
    /// The order in which writes are committed.
    Commits,
    /// All that happens to a client, client by client.
    Accounts,
    /// All that happens, in order.
    Everything,
    /// What programs say, and what the history is when they do.
    History,
}

/// A case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// One program per client. Each begins with a connect.
    pub programs: Vec<Vec<Statement>>,
    /// The paths that are there from the start, parents first.
    pub setup: Vec<usize>,
    /// Whether the paths of the last client begin with `/a`.
    pub chroot: bool,
    /// Whether clients give sessions up by their own clocks.
    pub gives_up: bool,
    /// Whether the leader deletes containers and TTL znodes. If it does not, creating a TTL znode is refused.
    pub deletes: bool,
    /// What is watched of it.
    pub watched: Watched,
    /// What may go wrong on one path.
    pub budget: Budget,
}

impl Case {
    /// The number of statements and of faults: what a smaller case has fewer of.
    pub fn size(&self) -> usize {
        let statements: usize = self.programs.iter().map(|program| program.len() + 1).sum();
        statements + self.budget.sum() + self.setup.len()
    }
}

/// Rust that makes the same case, to paste into a test.
impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Case {{")?;
        writeln!(f, "    programs: vec![")?;
        for program in &self.programs {
            let statements: Vec<String> = program.iter().map(Statement::rust).collect();
            writeln!(f, "        vec![{}],", statements.join(", "))?;
        }
        writeln!(f, "    ],")?;
        writeln!(f, "    setup: vec!{:?},", self.setup)?;
        writeln!(f, "    chroot: {},", self.chroot)?;
        writeln!(f, "    gives_up: {},", self.gives_up)?;
        writeln!(f, "    deletes: {},", self.deletes)?;
        writeln!(f, "    watched: Watched::{:?},", self.watched)?;
        writeln!(f, "    budget: {:?},", self.budget)?;
        f.write_str("}")
    }
}

impl Statement {
    /// As it is written in Rust.
    fn rust(&self) -> String {
        let text = format!("{self:?}");
        let names = ["Create", "Delete", "Set", "Exists", "Get", "Count", "Ephemerals", "Sync"];
        let others =
            ["Check", "Connect", "Close", "Sleep", "Random", "Now", "Receive", "Resource", "Auth"];
        let is_call = |word: &str| {
            let mut all = names.iter().chain(&others).chain(&["WrongAuth"]);
            all.any(|name| word.starts_with(name))
        };
        let Some((head, rest)) = text.split_once('(') else { return format!("Statement::{text}") };
        let qualified = rest
            .split(", ")
            .map(|word| match (head, word) {
                ("Watch", word) if word.starts_with(char::is_alphabetic) => {
                    format!("Watching::{word}")
                }
                ("FailOn", word) => format!("Answer::{word}"),
                (_, word) if is_call(word) => format!("Call::{word}"),
                (_, word) => word.to_string(),
            })
            .collect::<Vec<_>>();
        format!("Statement::{head}({}", qualified.join(", "))
    }
}
