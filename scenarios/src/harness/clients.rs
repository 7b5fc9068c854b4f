//! The clients of a test and their programs.

use crate::harness::role::Role;
use std::sync::Arc;
use vivarium_model::bounds::SWEPT_CLIENTS;
use vivarium_model::handle::Program;
use vivarium_sim::bounds::within;
use vivarium_sim::scenario::MakePrograms;
use vivarium_sim::{Choice, ClientOptions, Run};

/// The programs of a test.
pub(crate) enum Programs {
    /// Every client runs the same program with this number of rounds.
    Same(Arc<dyn Fn(u32) -> Program + Send + Sync>),
    /// Each role has its own clients.
    Roles(Vec<Role>),
}

/// The default number of clients.
const CLIENTS: u32 = 3;

/// The clients of a scenario.
pub(crate) struct Clients {
    pub(crate) clients: Choice,
    pub(crate) programs: MakePrograms,
    /// The role of each client; empty if there are no roles.
    pub(crate) roles: Vec<Arc<str>>,
    /// The options in the form of [`Settings`](vivarium_sim::Settings).
    pub(crate) options: Vec<ClientOptions>,
}

impl Programs {
    /// Assigns programs and options to clients. `said` is the number of clients if the caller set it. All clients have
    /// these options, except those whose role has its own.
    ///
    /// # Errors
    /// Returns one sentence about an invalid number.
    pub(crate) fn staff(
        self,
        said: Option<Choice>,
        options: ClientOptions,
    ) -> Result<Clients, String> {
        let roles = match self {
            Programs::Same(program) => {
                let programs: MakePrograms = Arc::new(move |run: &Run| {
                    (0..run.clients()).map(|_client| program(run.rounds)).collect()
                });
                let clients = said.unwrap_or(Choice::from(CLIENTS));
                return Ok(Clients {
                    clients,
                    programs,
                    roles: Vec::new(),
                    options: vec![options],
                });
            }
            Programs::Roles(roles) => roles,
        };
        if let Some(clients) = said {
            return Err(format!("`clients({clients})`: each role says how many clients it has"));
        }
        for Role { name, clients, .. } in &roles {
            let said = format!("clients({clients})` of the role `{name}");
            within(&said, u64::from(*clients), 1, SWEPT_CLIENTS.into())?;
        }
        let each = || roles.iter().flat_map(|role| (0..role.clients).map(move |_client| role));
        let programs: Vec<Program> = each().map(|role| role.program.clone()).collect();
        let of = |role: &Role| {
            let options = role.options.clone().unwrap_or_else(|| options.clone());
            if role.serves { options.serves() } else { options }
        };
        Ok(Clients {
            clients: Choice::from(programs.len() as u32),
            roles: each().map(|role| Arc::clone(&role.name)).collect(),
            options: each().map(of).collect(),
            programs: Arc::new(move |_drawn| programs.clone()),
        })
    }
}
