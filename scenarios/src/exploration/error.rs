//! Why there was no search.

use thiserror::Error;
use vivarium_model::bounds::SEARCHED_CLIENTS;
use vivarium_model::case::GrainKind;
use vivarium_model::setup::SetupError;
use vivarium_sim::bounds::OutOfBounds;

/// Why a scenario was not explored. What a search finds is no error, and neither is it if a bound stops it:
/// the report's verdict says that.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum ExploreError {
    /// A number of the [`Exploration`](crate::Exploration) makes no sense.
    #[error(transparent)]
    OutOfBounds(#[from] OutOfBounds),
    /// The scenario itself makes no sense: why.
    #[error("{0}")]
    Scenario(String),
    /// The scenario is not made to be explored.
    #[error("`{scenario}` cannot be explored: {why}")]
    NotExplorable {
        scenario: String,
        /// Why, as a clause.
        why: String,
    },
    /// Its clients or servers are told to do something that a search does not know.
    #[error("a search knows no {what}: leave that to a sweep")]
    Unknown { what: &'static str },
    /// Something was asked for that only the other grain has.
    #[error(
        "`{scenario}` is explored over the {grain} grain, and something was asked for that only the other \
         grain has"
    )]
    OtherGrain {
        /// The scenario's name.
        scenario: String,
        /// The grain at which it is explored.
        grain: GrainKind,
    },
    /// Servers are to vote by lot, which is for sweeps.
    #[error("elections by lot are for sweeps; a search tries every outcome: say `--election any`")]
    ByLot,
    /// Upsets are asked for, and elections choose the largest vote.
    #[error("`upsets`: only `--election any` elects others than the largest of a quorum; add it")]
    UpsetsWithoutAny,
    /// A defect is switched on that such a search cannot come upon: that it finds nothing would say nothing.
    #[error("`{bug}` cannot be found by a search of `{scenario}`: {why}")]
    Unseen {
        /// The defect's name.
        bug: &'static str,
        /// The scenario's name.
        scenario: String,
        /// Why not, and what can find it, as a clause.
        why: String,
    },
    /// The scenario has no version with as few clients as a search takes.
    #[error(
        "`{scenario}` has {clients} clients, and a search takes at most {SEARCHED_CLIENTS}: give it fewer"
    )]
    TooManyClients {
        /// The scenario's name.
        scenario: String,
        /// How many it has, at the least.
        clients: u32,
    },
    /// The number of clients is given, and the scenario's roles say another one.
    #[error("`clients({clients})`: the roles of `{scenario}` say how many")]
    RolesSayHowMany {
        /// The scenario's name.
        scenario: String,
        /// The number that was given.
        clients: u8,
    },
    /// The clients are said to be interchangeable, and they are not.
    #[error("`interchangeable`: the clients of `{scenario}` differ by their roles or options")]
    ClientsDiffer {
        /// The scenario's name.
        scenario: String,
    },
    /// A znode cannot be there from the start.
    #[error("`setup`: {0}")]
    Setup(SetupError),
    /// A program did not come back to an await for a long time: the sentence that says whose, and behind what.
    #[error("{0}")]
    Stuck(String),
    /// Vivarium itself panicked, or a part of the scenario that only it calls: the sentence that says so.
    #[error("{0}")]
    Panicked(String),
    /// The states cannot be shown to a browser at this address.
    #[error("no browser can be served at `{address}`: {why}")]
    NotServed {
        /// The address as it was given.
        address: String,
        /// Why, as a clause.
        why: String,
    },
}

impl From<ExploreError> for String {
    fn from(error: ExploreError) -> String {
        error.to_string()
    }
}
