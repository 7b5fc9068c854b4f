//! Who the clients of a test are, and what each of them runs.

use crate::test::role::Role;
use std::sync::Arc;
use vivarium_model::bounds::SWEPT_CLIENTS;
use vivarium_model::handle::Program;
use vivarium_sim::bounds::within;
use vivarium_sim::scenario::MakePrograms;
use vivarium_sim::{Choice, ClientOptions, Drawn};

/// The program of each role.
pub(crate) enum Programs {
    /// Each client runs the same, so often.
    Same(Arc<dyn Fn(u32) -> Program + Send + Sync>),
    /// Each role has its own clients.
    Roles(Vec<Role>),
}

/// How many clients there are where nobody says it.
const CLIENTS: u32 = 3;

/// Who the clients of a scenario are.
pub(crate) struct Staff {
    pub(crate) clients: Choice,
    pub(crate) programs: MakePrograms,
    /// The role of each, where there are roles.
    pub(crate) roles: Vec<Arc<str>>,
    /// As [`Settings`](vivarium_sim::Settings) has them.
    pub(crate) options: Vec<ClientOptions>,
}

impl Programs {
    /// With so many clients, if that was said, all with these options unless their role has others.
    ///
    /// # Errors
    /// One sentence about numbers that make no sense.
    pub(crate) fn staff(
        self,
        said: Option<Choice>,
        options: ClientOptions,
    ) -> Result<Staff, String> {
        let roles = match self {
            Programs::Same(program) => {
                let programs: MakePrograms = Arc::new(move |drawn: &Drawn| {
                    (0..drawn.clients).map(|_client| program(drawn.rounds)).collect()
                });
                let clients = said.unwrap_or(Choice::from(CLIENTS));
                return Ok(Staff { clients, programs, roles: Vec::new(), options: vec![options] });
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
        Ok(Staff {
            clients: Choice::from(programs.len() as u32),
            roles: each().map(|role| Arc::clone(&role.name)).collect(),
            options: each().map(of).collect(),
            programs: Arc::new(move |_drawn| programs.clone()),
        })
    }
}
