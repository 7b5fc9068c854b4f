//! A program that binds names, for scenarios and as an example.

use super::{Bind, Binding, Claim, Mutants, Names};
use crate::helpers::in_sessions;
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::{Program, Round, ZooKeeper, rounds};

/// Configures a [`name_worker`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameWork {
    /// The names' directory.
    pub directory: Arc<str>,
    /// The name that the worker binds in each round.
    pub names: Vec<Arc<str>>,
    /// The address that the worker gives to its names.
    pub address: Arc<str>,
    /// Whether a name that the worker has bound gets another address, and is then unbound.
    pub moves: bool,
    /// Whether to close the session at the end.
    pub close: bool,
    /// The mutants.
    pub mutants: Mutants,
}

/// Returns a program that binds one name after the other, and resolves a name that another client has bound.
///
/// The program fails with the server's error for a path.
pub fn name_worker(work: NameWork) -> Program {
    rounds(0usize, move |zookeeper, round| {
        let work = work.clone();
        async move {
            if let Some(name) = work.names.get(round) {
                bind(&zookeeper, &work, name).await.map_err(|error| error.to_string())?;
                return Ok(Round::Again(round + 1));
            }
            if work.close {
                zookeeper.close().await;
            }
            Ok(Round::Done)
        }
    })
}

async fn bind(zookeeper: &ZooKeeper, work: &NameWork, name: &str) -> Result<(), Error> {
    let names =
        Names::new(zookeeper.clone(), Arc::clone(&work.directory)).with_mutants(work.mutants);
    zookeeper.connect().await;
    let claim = names.claim(name, &work.address).await;
    let claim: &Claim = &claim;
    in_sessions(zookeeper, |zookeeper, _| {
        let names = Names::new(zookeeper, Arc::clone(&work.directory)).with_mutants(work.mutants);
        async move {
            match names.bind(claim).await? {
                Bind::Bound(binding) if work.moves => move_on(binding, &work.address).await,
                Bind::Bound(_) => Ok(()),
                Bind::Taken(..) => names.resolve_latest(name).await.map(drop),
            }
        }
    })
    .await
}

async fn move_on(mut binding: Binding, address: &str) -> Result<(), Error> {
    if binding.rebind(&format!("{address}'")).await? {
        binding.unbind().await?;
    }
    Ok(())
}
