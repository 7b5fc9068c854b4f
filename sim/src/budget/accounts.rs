//! The one declaration of what a search may spend.

/// Calls a macro with every account of the budgets of both grains. Types, names in case files, flags, builder methods and
/// rows of reports are made from this list, so an account is added here and where its steps are taken.
///
/// | of an account | what it is for |
/// |---|---|
/// | the field | its name in budgets, in case files, as a method of an `Exploration` and, with hyphens, as a flag |
/// | `value`, `help` | the flag's help |
/// | `usual` | the number if neither the user nor the scenario says one, and how help words it |
/// | `bounds` | the numbers that are taken |
/// | `row`, `how` | the row of the report, and what it says of an account that is not empty |
/// | `words` | one and several of them in the line of what was asked |
///
/// The order is that of flags, of case files and of fingerprints: a new account comes last in its grain.
#[doc(hidden)]
#[macro_export]
macro_rules! accounts {
    ($then:ident) => {
        $then! {
            programs over Service {
                /// Connections that may be lost, each at any moment: before the server reads a request, after, or before
                /// the reply is read. If the reply to a connect request is lost, the session exists and its client never
                /// learns of it.
                ///
                /// An attempt to connect again that is refused is one more: an outage that fails two calls in a row, the
                /// second while it was queued for the next connection, is two.
                lost: Lost {
                    value: "K",
                    help: "How many connections may be lost on a path; a refused attempt to connect again is one more",
                    usual: 0,
                    bounds: 0..=63,
                    row: "fates of a lost reply",
                    how: "never applied, applied, applied later than the next connection; an attempt to connect again \
                          that is refused is one more lost connection",
                    words: ["lost", "lost"],
                }
                /// Sessions that may expire although their client lives, or that a client gives up by its own clock.
                expiries: Expiries {
                    value: "E",
                    help: "How many sessions may expire although their client lives",
                    usual: 0,
                    bounds: 0..=63,
                    row: "session expiry",
                    how: "at any moment; the client learns of it later",
                    words: ["expiries", "expiries"],
                }
                /// Cancellations of programs, each where a program lets itself be cancelled.
                cancels: Cancels {
                    value: "X",
                    help: "How often programs may be cancelled",
                    usual: 0,
                    bounds: 0..=63,
                    row: "cancellations",
                    how: "at each await that lets itself be cancelled",
                    words: ["cancels", "cancels"],
                }
                /// Sleeps and timeouts that may end although something else could happen first. A search that had to keep
                /// one from ending is bounded, not exhausted. (Where nothing else can happen time passes, and they end
                /// anyway.) If no number is given, there are none at first, and more as long as that bounds the search, up
                /// to twelve. 63 stands for any number, which is then no part of a state.
                timers: Timers {
                    value: "T",
                    help: "How many timers may end although something else could happen first, or `any`",
                    usual: 0 or "as many as it takes, up to 12",
                    bounds: 0..=63,
                    row: "early timers",
                    how: "ends although something else could happen first",
                    words: ["timers", "timers"],
                }
                /// Programs that may crash, each followed by a replacement.
                kills: Kills {
                    value: "K",
                    help: "How many programs may crash and start anew",
                    usual: 0,
                    bounds: 0..=63,
                    row: "kills",
                    how: "a program dies at any moment and is started anew",
                    words: ["kills", "kills"],
                }
                /// Readings of programs' clocks (`ZooKeeper::now`) that may be late: 1 if no number is given. A program's
                /// clock goes on by what the program sleeps. A reading that is late is later than that by the timeout of a
                /// session, by an hour, or by one of the spans of `Exploration::delay`.
                delays: Delays {
                    value: "D",
                    help: "How many readings of programs' clocks may be late on a path",
                    usual: 1,
                    bounds: 0..=63,
                    row: "clock",
                    how: "later by a session's timeout, by an hour, or by a --delay",
                    words: ["delays", "delays"],
                }
                /// Containers and TTL znodes that the leader may delete although something else could happen first. A
                /// container can go when it is empty and was not always, a TTL znode when it has no children, however long
                /// its time to live.
                ///
                /// Where nothing else can happen they go anyway, as long as a program has not finished. (If the number is 0
                /// and servers have no
                /// [`extended_types`](vivarium_model::config::ServerOptions::extended_types), none ever goes: a container
                /// then stays.)
                deletions: Deletions {
                    value: "D",
                    help: "How many containers and TTL znodes the leader may delete although something else could happen \
                           first",
                    usual: 0,
                    bounds: 0..=63,
                    row: "deletion of containers",
                    how: "goes where nothing else can happen",
                    words: ["deletions", "deletions"],
                }
            }
            servers over Ensemble {
                /// The servers of the ensemble.
                servers: Servers {
                    value: "N",
                    help: "How many servers",
                    usual: 0 or "the scenario's",
                    bounds: 1..=vivarium_model::bounds::SEARCHED_SERVERS,
                    row: "servers",
                    how: "every order in which packets, disk operations and starts take turns",
                    words: ["server", "servers"],
                }
                /// Observers of the ensemble, in addition: they learn, and do not vote.
                observers: Observers {
                    value: "N",
                    help: "How many observers in addition",
                    usual: 0,
                    bounds: 0..=2,
                    row: "observers",
                    how: "as the servers; an observer logs and applies without acks",
                    words: ["observer", "observers"],
                }
                /// Writes that established leaders propose.
                txns: Txns {
                    value: "T",
                    help: "How many writes leaders propose",
                    usual: 0 or "the scenario's",
                    bounds: 0..=u8::MAX,
                    row: "transactions",
                    how: "proposed by an established leader at any moment",
                    words: ["transaction", "transactions"],
                }
                /// Reconfigurations that established leaders propose: each time the first voter leaves, and a new server votes.
                reconfigs: Reconfigs {
                    value: "R",
                    help: "How many voters are replaced by new servers",
                    usual: 0,
                    bounds: 0..=2,
                    row: "reconfigurations",
                    how: "proposed by an established leader at any moment: the first voter leaves, and a new server votes",
                    words: ["reconfiguration", "reconfigurations"],
                }
                /// Servers that may crash, each at any moment and with any part of what it has not fsynced lost. They start
                /// again.
                crashes: Crashes {
                    value: "C",
                    help: "How many servers may crash and start again",
                    usual: 0 or "the scenario's",
                    bounds: 0..=u8::MAX,
                    row: "crashes",
                    how: "with each part of the unsynced log lost (a torn record counts as lost), with and without \
                          unsynced snapshots, and each number of packets that still arrive",
                    words: ["crash", "crashes"],
                }
                /// Connections between learners and leaders that may break, with any number of packets that still arrive.
                breaks: Breaks {
                    value: "B",
                    help: "How many connections between servers may break",
                    usual: 0,
                    bounds: 0..=u8::MAX,
                    row: "broken connections",
                    how: "with each number of packets that still arrive",
                    words: ["broken connection", "broken connections"],
                }
                /// Servers that may leave their role though nothing is wrong.
                timeouts: Timeouts {
                    value: "O",
                    help: "How many servers may leave their role though nothing is wrong",
                    usual: 0,
                    bounds: 0..=u8::MAX,
                    row: "timeouts",
                    how: "a server leaves its role though nothing is wrong (where it is the only way on, it does so \
                          anyway)",
                    words: ["timeout", "timeouts"],
                }
                /// Fsyncs of servers' logs that may fail, with any part of what they were to make durable lost; the server
                /// leaves its role.
                fsync_errors: FsyncErrors {
                    value: "F",
                    help: "How many writes to servers' disks may fail, of logs and of snapshots",
                    usual: 0,
                    bounds: 0..=u8::MAX,
                    row: "fsync errors",
                    how: "a write to a log or its fsync fails, with each part of the unsynced log lost, and its server \
                          leaves its role; or a write of a snapshot, and its process exits",
                    words: ["fsync error", "fsync errors"],
                }
                /// Elections that may choose a server that needs the vote of one that is ahead of it, with
                /// [`Election::Any`](vivarium_model::config::Election::Any): 1 if no number is given.
                upsets: Upsets {
                    value: "U",
                    help: "How many elections may choose a server that needs the vote of one ahead of it, with --election \
                           any",
                    usual: 1,
                    bounds: 0..=u8::MAX,
                    row: "upsets",
                    how: "a server is elected that needs the vote of one that is ahead of it",
                    words: ["upset", "upsets"],
                }
            }
        }
    };
}
