//! The regression cases of a test: replayed first, and written when the test fails.

use super::environment::{Environment, cargo_test, file_name};
use super::ready::Ready;
use crate::replaying::regressions::{Became, became, cases_in};
use crate::replaying::{self, Told};
use crate::sweeping::Commands;
use std::path::Path;
use vivarium_model::case::{Case, GrainKind};
use vivarium_reports::case_file;

impl Ready {
    /// Replays the cases of this test that its crate keeps as regressions.
    ///
    /// # Errors
    /// The report of the first case that violates a property.
    pub(crate) fn replay_regressions(&self, environment: &Environment) -> Result<(), String> {
        let Some(folder) = environment.regressions() else { return Ok(()) };
        for (path, case) in cases_in(&folder, &file_name(&self.scenario.name)) {
            let case = match case {
                Ok(case) if case.scenario == self.scenario.name => case,
                Ok(_) => continue,
                Err(sentence) => {
                    eprintln!("regression {}: left out: {sentence}", path.display());
                    continue;
                }
            };
            match self.replayed(&path, &case) {
                Ok(Became::Holds(sentence)) => eprintln!("{sentence}"),
                Ok(Became::Violates(text)) => {
                    let file = path.display();
                    return Err(format!("the regression {file} violates a property\n{text}"));
                }
                Err(sentence) => {
                    eprintln!("regression {}: cannot be replayed: {sentence}", path.display());
                }
            }
        }
        Ok(())
    }

    fn replayed(&self, path: &Path, case: &Case) -> Result<Became, String> {
        let file = path.display().to_string();
        let replay = format!("VIVARIUM_CASE={file} {}", cargo_test());
        let every_step = format!("VIVARIUM_TIMELINE=all {replay}");
        let commands = Commands { replay, every_step };
        let told = match case.grain {
            GrainKind::Ensemble => replaying::swept(&self.scenario, case, &file, None, commands)?,
            GrainKind::Service => self.searched(case, &file, &commands)?,
        };
        Ok(became(path, case, told))
    }

    #[cfg(feature = "explore")]
    fn searched(&self, case: &Case, file: &str, commands: &Commands) -> Result<Told, String> {
        let replayed = crate::exploration::replay(&self.scenario, case)?;
        let replayed = replayed.ok_or("a search has not written it")?;
        Ok(replaying::explored::told(file, case, &replayed, Some(usize::MAX), commands))
    }

    #[cfg(not(feature = "explore"))]
    #[allow(clippy::unused_self, reason = "the other version needs it")]
    fn searched(&self, _case: &Case, _file: &str, _commands: &Commands) -> Result<Told, String> {
        Err("it is a search's, and this build has none (feature `explore`)".to_string())
    }

    /// Keeps a case as a regression. Returns its path; `None` if the environment has no folder for them.
    pub(crate) fn keep(&self, case: &Case, seed: u64) -> Option<Result<String, String>> {
        let folder = Environment::read().regressions()?;
        let path = folder.join(format!("{}-{seed}.json", file_name(&self.scenario.name)));
        let saved = case_file::save(&path, case).map_err(|error| error.to_string());
        Some(saved.map(|()| path.display().to_string()))
    }
}
