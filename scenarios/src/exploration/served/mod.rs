//! A walk from the beginning of a search of a user's test, in a browser.

#[cfg(all(test, feature = "cli"))]
mod tests;

use super::judged::judged;
use super::{Exploration, ExploreError, beginning};
use crate::walking::{Caller, Judged, Listener, Walking, serve};
use std::path::{Path, PathBuf};
use vivarium_model::case::Case;
use vivarium_model::step::Step;
use vivarium_model::time::Time;
use vivarium_sim::Scenario;
use vivarium_sim::walked::Origin;

/// Opens an address, passes a line for the user to `tell`, and serves the walk until the process ends.
///
/// # Errors
/// Fails if the scenario cannot be explored, or no browser can be served at the address.
pub(crate) fn serve_at(
    scenario: &Scenario,
    exploration: &Exploration,
    address: &str,
    tell: &dyn Fn(&str),
) -> Result<(), ExploreError> {
    let (scenario, case) = beginning(scenario, &[], exploration)?;
    let listener = Listener::open(address).map_err(ExploreError::NotServed)?;
    tell(&format!("The walk through {} is at {} until Ctrl-C", scenario.name, listener.url()));
    let title = scenario.name.clone();
    serve(&mut Walking::new(Some(scenario), &case, title, Box::new(OfTest)), &listener);
    Ok(())
}

/// Saves ways for a test that replays a case which the environment names.
struct OfTest;

impl Caller for OfTest {
    fn judge(&self, origin: &Origin, way: Vec<(Time, Step)>) -> Result<Judged, String> {
        judged(origin, way)
    }

    fn path(&self, case: &Case, which: &str) -> PathBuf {
        Path::new("cases").join(format!("{}-{which}.json", case.scenario.replace('/', "-")))
    }

    fn replay(&self, path: &str) -> String {
        format!("VIVARIUM_CASE={path} cargo test")
    }
}
