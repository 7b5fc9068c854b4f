//! Checks that the options of a search are valid for its scenario, and derives values from both.

use super::ExploreError;
use super::asked::{Ensemble, Exploration};
use vivarium_model::bounds::SEARCHED_CLIENTS;
use vivarium_model::case::GrainKind;
use vivarium_model::release::Bugs;
use vivarium_model::setup::{Setup, SetupError};
use vivarium_sim::bounds::{OutOfBounds, some_time, within};
use vivarium_sim::budget::Account;
use vivarium_sim::every::{Options, Strategy};
use vivarium_sim::{Explored, Scenario};

impl Exploration {
    /// Checks that the options are valid, and that none of them applies only to the other grain.
    pub(super) fn check(&self, scenario: &Scenario) -> Result<(), ExploreError> {
        scenario.check().map_err(ExploreError::Scenario)?;
        self.check_numbers()?;
        let scenario_name = || scenario.name.clone();
        let said = |grain| Account::of(grain).iter().any(|account| self.said(*account).is_some());
        let (other, grain) = match &scenario.explored {
            Explored::Programs { .. } => {
                let ensemble = said(GrainKind::Ensemble) || self.ensemble != Ensemble::default();
                (ensemble, GrainKind::Service)
            }
            Explored::Servers(_) => {
                let clients = self.clients.is_some() || !self.setup.is_empty();
                let service = said(GrainKind::Service) || clients || !self.delays.is_empty();
                (service, GrainKind::Ensemble)
            }
            Explored::No(_) => return Ok(()),
        };
        match other {
            true => Err(ExploreError::OtherGrain { scenario: scenario_name(), grain }),
            false => Ok(()),
        }
    }

    /// Names the search, so that a checkpoint of another one is not taken for one of this. The first line of a
    /// checkpoint's name is that of the search; a second one tells the searches apart that one call can make.
    ///
    /// # Errors
    /// Fails if the search goes depth first and has to do with checkpoints, or if the checkpoint is that of another
    /// search.
    pub(super) fn named(
        &self,
        scenario: &Scenario,
        bugs: &[String],
    ) -> Result<Exploration, ExploreError> {
        let options = &self.options;
        let has_checkpoints = options.checkpoints.is_some() || options.resume.is_some();
        if has_checkpoints && options.strategy != Strategy::BreadthFirst {
            return Err(ExploreError::CheckpointsDepthFirst);
        }
        #[cfg(feature = "cluster")]
        if options.cluster.is_some() && options.strategy != Strategy::BreadthFirst {
            return Err(ExploreError::ClusterDepthFirst);
        }
        #[cfg(feature = "cluster")]
        if match options.cluster {
            Some(_) => options.resume.is_some(),
            None => options.resume_together.is_some(),
        } {
            return Err(ExploreError::ClusterResume);
        }
        let of = self.in_words(scenario, bugs);
        if let Some(checkpoint) = &options.resume
            && checkpoint.of().lines().next() != Some(&*of)
        {
            let written = checkpoint.of().lines().next().unwrap_or_default().to_string();
            return Err(ExploreError::OtherCheckpoint { written, asked: of });
        }
        let options = Options { of, ..options.clone() };
        Ok(Exploration { options, ..self.clone() })
    }

    /// Describes everything that decides what a search visits, in one line.
    fn in_words(&self, scenario: &Scenario, bugs: &[String]) -> String {
        let mut words = vec![scenario.name.clone()];
        words.extend(bugs.iter().map(|bug| format!("--bug {bug}")));
        words.extend(self.clients.map(|clients| format!("--clients {clients}")));
        let said = |account: Account| Some(format!("{} {}", account.flag(), self.said(account)?));
        words.extend(Account::ALL.into_iter().filter_map(said));
        words.extend(self.delays.iter().map(|delay| format!("--delay {delay:?}")));
        words.extend(self.setup.iter().map(|path| format!("with {path}")));
        if self.ensemble != Ensemble::default() {
            words.push(format!("{:?}", self.ensemble));
        }
        if !self.reductions {
            words.push("--no-reduction".to_string());
        }
        if !self.symmetry {
            words.push("--no-symmetry".to_string());
        }
        words.extend(self.options.max_depth.map(|depth| format!("to depth {depth}")));
        if scenario.bugs != Bugs::NONE {
            words.push(format!("with the defects {:?}", scenario.bugs));
        }
        words.join(" ")
    }

    pub(super) fn strategy(&self) -> String {
        match self.options.strategy {
            Strategy::BreadthFirst => "breadth first".to_string(),
            Strategy::DepthFirst => "depth first".to_string(),
        }
    }

    /// Checks that the numbers are within their bounds.
    pub(super) fn check_numbers(&self) -> Result<(), OutOfBounds> {
        let Options { max_states, max_memory, max_time, .. } = self.options;
        if let Some(states) = max_states {
            within(&format!("max_states({states})"), states, 1, u64::MAX)?;
        }
        if let Some(bytes) = max_memory {
            within(&format!("max_memory({bytes})"), bytes, 1, u64::MAX)?;
        }
        for account in Account::ALL {
            if let Some(number) = self.said(account) {
                let (least, most) = account.bounds();
                let said = format!("{account}({number})");
                within(&said, number.into(), least.into(), most.into())?;
            }
        }
        self.delays.iter().try_for_each(|span| some_time("delay", *span))?;
        max_time.map_or(Ok(()), |time| some_time("max_time", time))
    }

    /// Returns the number of clients.
    pub(super) fn clients_of(&self, scenario: &Scenario) -> Result<u8, ExploreError> {
        let name = || scenario.name.clone();
        if let Some(clients) = self.clients {
            let said = format!("clients({clients})");
            let roles = scenario.settings.roles.len();
            if roles != 0 && roles != usize::from(clients) {
                return Err(ExploreError::RolesSayHowMany { scenario: name(), clients });
            }
            within(&said, clients.into(), 1, SEARCHED_CLIENTS.into())?;
            return Ok(clients);
        }
        let fewest = scenario.clients.range().map_or(1, |(fewest, _most)| fewest);
        let few = u8::try_from(fewest).ok().filter(|clients| *clients <= SEARCHED_CLIENTS);
        few.ok_or_else(|| ExploreError::TooManyClients { scenario: name(), clients: fewest })
    }

    /// Returns the scenario with the znodes that exist from the start of this search.
    pub(super) fn set_up(
        &self,
        scenario: &Scenario,
        setup: &Setup,
    ) -> Result<Scenario, ExploreError> {
        let mut setup = scenario.setup.clone().and(setup);
        for path in &self.setup {
            match setup.add(path) {
                // The scenario may have the znode too.
                Ok(()) | Err(SetupError::Twice(_)) => {}
                Err(error) => return Err(ExploreError::Setup(error)),
            }
        }
        Ok(Scenario { explored: Explored::Programs { setup }, ..scenario.clone() })
    }
}
