//! A generated case: small programs, what is watched of them, and the possible faults.

use std::fmt;
use vivarium_sim::every::programs::Budget;

/// The paths of programs: few, so that they collide.
pub const PATHS: [&str; 3] = ["/a", "/a/b", "/c"];

/// One call to ZooKeeper or to the surroundings. Paths are indices in [`PATHS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Call {
    /// Creates a persistent znode.
    Create(usize),
    /// Creates an ephemeral znode.
    CreateEphemeral(usize),
    /// Creates a persistent znode with a number at the end of its name.
    CreateSequential(usize),
    /// Creates a container.
    CreateContainer(usize),
    /// Creates a TTL znode, if the leader deletes any.
    CreateTtl(usize),
    /// Deletes a znode, whatever its version.
    Delete(usize),
    /// Sets a znode's data to this byte.
    SetData(usize, u8),
    /// Sets a znode's data to this byte, if it was never set.
    SetFirst(usize, u8),
    /// Checks whether a znode exists.
    Exists(usize),
    /// Reads the data and the versions.
    GetData(usize),
    /// Reads the names of the children.
    GetChildren(usize),
    /// Counts the descendants.
    CountAll(usize),
    /// Lists the session's own ephemerals.
    Ephemerals,
    /// Reads the version of the ACL.
    GetAcl(usize),
    /// Removes the right to write from all clients.
    SetAcl(usize),
    /// Sends a sync.
    Sync,
    /// Creates and deletes the same znode in one multi, which leaves the tree unchanged.
    CreateAndDelete(usize),
    /// Checks the first znode and creates the second in one multi.
    CheckAndCreate(usize, usize),
    /// Waits for a session; begins a new one if necessary.
    Connect,
    /// Closes the session.
    Close,
    /// Sleeps for a minute.
    Sleep,
    /// Draws a random number.
    Random,
    /// Reads the clock, in minutes.
    Now,
    /// Waits for a message of another client.
    Receive,
    /// Writes to a resource outside of ZooKeeper.
    Resource,
    /// Proves an identity that servers accept.
    Auth,
    /// Proves an identity that servers refuse.
    WrongAuth,
}

/// The read that sets a watch.
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
    /// `addWatch`, recursive.
    Recursive,
}

/// One step of a program. The program records the result of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Statement {
    /// Makes a call.
    Do(Call),
    /// Makes a call, and repeats it up to twice after a lost connection.
    Retry(Call),
    /// Makes both calls concurrently and waits for both answers.
    Join(Call, Call),
    /// Makes both calls concurrently until the first answer; the other call is dropped.
    Race(Call, Call),
    /// Makes a call with a timeout of one minute.
    Timeout(Call),
    /// Makes a call that can be cancelled.
    Cancellable(Call),
    /// Makes a call in a task of its own.
    Spawn(Call),
    /// Sets a watch, which replaces the previous one.
    Watch(Watching, usize),
    /// Waits for the watch.
    Await,
    /// Waits for the watch or for the call.
    AwaitOr(Call),
    /// Removes all watches of a path.
    Unwatch(usize),
    /// Records the changes of the session so far.
    States,
    /// Waits for the next change of the session.
    NextState,
    /// Sends a message to another client, given by its index among the others.
    Send(usize),
    /// Makes an observation.
    Say(u8),
    /// Fails if the last answer was this one.
    FailOn(Answer),
}

/// An answer that a program may treat as a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    /// The result is unknown.
    ConnectionLoss,
    /// The session is over.
    SessionExpired,
    /// The znode does not exist.
    NoNode,
    /// The znode exists already.
    NodeExists,
}

/// What is watched, which decides which runs count as different.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Watched {
    /// The records of each program at its end.
    Ends,
    /// The observations and records of each program, client by client.
    Words,
    /// The same, with the order among clients.
    Order,
    /// The observations and records of each program, and the order in which requests are sent.
    Requests,
    /// The order in which writes are committed.
    Commits,
    /// All events of a client, client by client.
    Accounts,
    /// All events, in order.
    Everything,
    /// The observations of programs, and the history at each of them.
    History,
    /// The observations and records of programs, in order, and the tree at each of them.
    Tree,
}

/// A generated case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// One program per client. Each begins with a connect.
    pub programs: Vec<Vec<Statement>>,
    /// The paths that exist from the start, parents first.
    pub setup: Vec<usize>,
    /// Whether the paths of the last client begin with `/a`.
    pub chroot: bool,
    /// Whether clients give up sessions by their own clocks.
    pub gives_up: bool,
    /// Whether the leader deletes containers and TTL znodes. If it does not, the create of a TTL znode is refused.
    pub deletes: bool,
    /// What is watched of the case.
    pub watched: Watched,
    /// The faults that can happen on one path.
    pub budget: Budget,
}

impl Case {
    /// Returns the number of statements, faults and znodes; a smaller case has fewer.
    pub fn size(&self) -> usize {
        let statements: usize = self.programs.iter().map(|program| program.len() + 1).sum();
        statements + self.budget.sum() + self.setup.len()
    }
}

/// Prints Rust code for the case, to paste into a test.
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
    /// Returns the statement as Rust code.
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
