//! The reasons for which there was no search.

use thiserror::Error;
use vivarium_model::bounds::SEARCHED_CLIENTS;
use vivarium_model::case::GrainKind;
use vivarium_model::release::Release;
use vivarium_model::setup::SetupError;
use vivarium_sim::bounds::OutOfBounds;

/// The reason for which a scenario was not explored. A violation is no error, and neither is a bound that stops the
/// search: the report's verdict says so.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum ExploreError {
    /// A number of the [`Exploration`](crate::Exploration) is out of its bounds.
    #[error(transparent)]
    OutOfBounds(#[from] OutOfBounds),
    /// The scenario itself is invalid; the sentence says why.
    #[error("{0}")]
    Scenario(String),
    /// The scenario cannot be explored.
    #[error("`{scenario}` cannot be explored: {why}")]
    NotExplorable {
        scenario: String,
        /// The reason, as a clause.
        why: String,
    },
    /// A setting of the scenario's clients or servers is unknown to searches.
    #[error("a search knows no {what}: leave that to a sweep")]
    Unknown { what: &'static str },
    /// An option applies only to the other grain.
    #[error(
        "`{scenario}` is explored over the {grain} grain, but an option was given that only the other \
         grain has"
    )]
    OtherGrain {
        /// The scenario's name.
        scenario: String,
        /// The grain at which it is explored.
        grain: GrainKind,
    },
    /// Servers vote by lot, which only sweeps support.
    #[error("elections by lot are for sweeps; a search tries every outcome: use `--election any`")]
    ByLot,
    /// Upsets are requested, but elections choose the largest vote.
    #[error("`upsets`: only `--election any` elects others than the largest of a quorum; add it")]
    UpsetsWithoutAny,
    /// Reconfigurations are requested, but any member of a quorum can be elected.
    #[error(
        "`reconfigs`: not with `--election any`, which knows one configuration only; leave one of them out"
    )]
    ReconfigsWithAny,
    /// The servers are of a release that cannot do what is asked of them.
    #[error("servers of {release} have no {what}: {first} is the first that has")]
    Lacking {
        /// The release.
        release: Release,
        /// What is asked.
        what: &'static str,
        /// The first release that can.
        first: &'static str,
    },
    /// Checkpoints are requested of a search that keeps none.
    #[error(
        "a depth-first search keeps no checkpoints, and goes on from none: leave one of the two out"
    )]
    CheckpointsDepthFirst,
    /// The checkpoint is one of another search.
    #[error("the checkpoint is one of another search:\n  {written}\nand not of this:\n  {asked}")]
    OtherCheckpoint {
        /// The search that wrote the checkpoint.
        written: String,
        /// This search.
        asked: String,
    },
    /// The checkpoint does not fit what programs and properties do now.
    #[error("the checkpoint cannot be resumed: {0}")]
    Checkpoint(String),
    /// A search in several processes is to go depth first.
    #[error("a search in several processes goes breadth first: leave `--depth-first` out")]
    ClusterDepthFirst,
    /// A checkpoint of one process is given to several, or the reverse.
    #[error("`resume` is for a search in one process, and `resume_together` for one in several")]
    ClusterResume,
    /// The processes that were to search together could not begin.
    #[error("the processes could not begin together: {0}")]
    Cluster(String),
    /// A defect is switched on that such a search cannot find: the verdict "held" would be worthless.
    #[error("`{bug}` cannot be found by a search of `{scenario}`: {why}")]
    Unseen {
        /// The name of the defect, or of the release.
        bug: String,
        /// The scenario's name.
        scenario: String,
        /// Why the search cannot find it, and how it can be found, as a clause.
        why: String,
    },
    /// The scenario does not allow as few clients as a search supports.
    #[error(
        "`{scenario}` has {clients} clients, and a search takes at most {SEARCHED_CLIENTS}: give it fewer"
    )]
    TooManyClients {
        /// The scenario's name.
        scenario: String,
        /// The smallest number of clients of the scenario.
        clients: u32,
    },
    /// The number of clients was given, and differs from the number of the scenario's roles.
    #[error("`clients({clients})`: the roles of `{scenario}` say how many")]
    RolesSayHowMany {
        /// The scenario's name.
        scenario: String,
        /// The number that was given.
        clients: u8,
    },
    /// A znode cannot exist from the start.
    #[error("`setup`: {0}")]
    Setup(SetupError),
    /// A program did not reach an await for a long time. The sentence names the client and its last input.
    #[error("{0}")]
    Stuck(String),
    /// Vivarium itself panicked, or a part of the scenario that is no program. The sentence has the message.
    #[error("{0}")]
    Panicked(String),
    /// The states cannot be served to a browser: the sentence that says why.
    #[error("{0}")]
    NotServed(String),
}

impl From<ExploreError> for String {
    fn from(error: ExploreError) -> String {
        error.to_string()
    }
}
