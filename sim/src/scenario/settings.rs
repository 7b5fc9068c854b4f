//! The settings of clients and servers in a scenario, which override the values that each seed draws.

use crate::scenario::bounds;
use std::sync::Arc;
use std::time::Duration;
use vivarium_model::config::{ClientConfig, Config, ServerOptions};
use vivarium_model::id::ClientId;
use vivarium_model::path::ZnodePath;

/// A scenario's settings of clients and servers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The role of each client; empty if there are no roles. With roles, the number of clients is fixed.
    pub roles: Vec<Arc<str>>,
    /// The options of each client. The last element also applies to all further clients; an empty list sets nothing.
    pub clients: Vec<ClientOptions>,
    /// The servers' system properties that clients notice.
    pub servers: ServerOptions,
}

/// The options of a client's configuration. Each seed draws the values of options that are not set.
///
/// ```
/// use std::time::Duration;
/// use vivarium_sim::ClientOptions;
///
/// let patient = ClientOptions::new().session_timeout(Duration::from_secs(10)).chroot("/app");
/// assert_ne!(patient, ClientOptions::new());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientOptions {
    session_timeout: Option<Duration>,
    chroot: Option<Arc<str>>,
    address: Option<Arc<str>>,
    can_be_read_only: bool,
    expires_locally: bool,
    disable_auto_watch_reset: bool,
    serves: bool,
}

impl ClientOptions {
    /// No options set; every value is drawn from the seed.
    pub fn new() -> ClientOptions {
        ClientOptions::default()
    }

    /// The session timeout that the client asks for. Servers clamp it to between 2 and 20 ticks, and each
    /// seed draws how long a tick is (200 ms to 2 s), unless
    /// [`ServerOptions::min_session_timeout`] and [`ServerOptions::max_session_timeout`] say otherwise.
    #[must_use]
    pub fn session_timeout(mut self, timeout: Duration) -> ClientOptions {
        self.session_timeout = Some(timeout);
        self
    }

    /// The prefix of every path of the client's program. Properties see full paths, and a setup uses full paths.
    #[must_use]
    pub fn chroot(mut self, path: &str) -> ClientOptions {
        self.chroot = Some(Arc::from(path));
        self
    }

    /// The client's IPv4 address, for ACLs of the scheme `ip`. The default is 127.0.0.1.
    #[must_use]
    pub fn address(mut self, address: &str) -> ClientOptions {
        self.address = Some(Arc::from(address));
        self
    }

    /// The client accepts a read-only server, if there is one ([`ServerOptions::read_only_mode`]).
    #[must_use]
    pub fn can_be_read_only(mut self) -> ClientOptions {
        self.can_be_read_only = true;
        self
    }

    /// The client gives up its session by itself after it has received nothing for 4/3 of the timeout, as clients do
    /// since 3.9.3 (ZOOKEEPER-4508).
    #[must_use]
    pub fn expires_locally(mut self) -> ClientOptions {
        self.expires_locally = true;
        self
    }

    /// A lost connection ends all watches of the client: each fails with `ConnectionLoss`, and the client does not set
    /// them again at the next server, as with ZooKeeper's client property `zookeeper.disableAutoWatchReset`.
    #[must_use]
    pub fn disable_auto_watch_reset(mut self) -> ClientOptions {
        self.disable_auto_watch_reset = true;
        self
    }

    /// The client's program is a service: it need not finish, and a run can end while it still runs.
    ///
    /// After all faults are over and all other programs have finished, a sweep continues for as long as it can take
    /// until a session that ended unnoticed has expired and a new one has begun. In a search, a state without a further
    /// step is a valid end even if the service waits.
    #[must_use]
    pub fn serves(mut self) -> ClientOptions {
        self.serves = true;
        self
    }

    /// Checks that the options are valid.
    ///
    /// # Errors
    /// Returns one sentence about the first invalid option.
    fn check(&self) -> Result<(), String> {
        if let Some(timeout) = self.session_timeout {
            bounds::some_time("session_timeout", timeout)?;
        }
        if let Some(address) = self.address.as_deref()
            && address.parse::<std::net::Ipv4Addr>().is_err()
        {
            return Err(format!("`address({address:?})` is no IPv4 address"));
        }
        match self.chroot.as_deref() {
            None | Some("" | "/") => Ok(()),
            Some(chroot) => ZnodePath::new(chroot)
                .map(drop)
                .map_err(|_refused| format!("`chroot({chroot:?})` is not a valid path")),
        }
    }

    fn apply(&self, config: &mut ClientConfig) {
        if let Some(timeout) = self.session_timeout {
            config.session_timeout = timeout;
        }
        if let Some(chroot) = &self.chroot {
            config.chroot = Arc::clone(chroot);
        }
        if let Some(address) = &self.address {
            config.address = Arc::clone(address);
        }
        config.can_be_read_only |= self.can_be_read_only;
        config.expires_locally |= self.expires_locally;
        config.disable_auto_watch_reset |= self.disable_auto_watch_reset;
        config.serves |= self.serves;
    }
}

impl Settings {
    /// Checks that the settings are valid.
    ///
    /// # Errors
    /// Returns one sentence about the first invalid setting.
    pub(crate) fn check(&self) -> Result<(), String> {
        // With an interval of 0, a leader would check containers without end (`Timer.scheduleAtFixedRate` refuses 0,
        // too).
        let interval = self.servers.container_check_interval;
        bounds::some_time("container_check_interval", interval)
            .map_err(|error| error.to_string())?;
        if self.servers.max_container_deletions == 0 {
            return Err("`max_container_deletions(0)`: give at least 1".to_string());
        }
        if self.servers.largest_counter < 2 {
            return Err(format!(
                "`largest_counter({})`: a leader could not propose anything; give at least 2",
                self.servers.largest_counter
            ));
        }
        let release = self.servers.operations_of;
        if let Some((what, first)) = self.servers.missing() {
            return Err(format!(
                "servers of {release} have no {what}: {first} is the first that has"
            ));
        }
        self.clients.iter().try_for_each(ClientOptions::check)
    }

    /// Checks that a search supports these settings.
    ///
    /// # Errors
    /// Returns the first unsupported setting, to follow "a search knows no".
    pub fn check_searchable(&self) -> Result<(), &'static str> {
        let any = |asked: fn(&ClientOptions) -> bool| self.clients.iter().any(asked);
        // A search has no time, so the session timeouts and the intervals of the container checks do not matter. A sync
        // in a search shows what it may show with `forward_learner_requests_to_commit_processor_disabled` set.
        let ServerOptions {
            min_session_timeout,
            max_session_timeout,
            forward_learner_requests_to_commit_processor_disabled,
            extended_types,
            container_check_interval,
            max_container_deletions,
            max_never_used_interval,
            ..
        } = self.servers;
        let usual = ServerOptions {
            min_session_timeout,
            max_session_timeout,
            forward_learner_requests_to_commit_processor_disabled,
            extended_types,
            container_check_interval,
            max_container_deletions,
            max_never_used_interval,
            ..Default::default()
        };
        let lacking = [
            (any(|client| client.can_be_read_only), "clients of read-only servers"),
            (self.servers != usual, "server options but ZooKeeper's own defaults"),
        ];
        match lacking.into_iter().find(|(asked, _what)| *asked) {
            Some((_, what)) => Err(what),
            None => Ok(()),
        }
    }

    /// Checks that a case of the scenario with this name can have this number of clients.
    pub(crate) fn takes_clients(&self, name: &str, clients: usize) -> Result<(), String> {
        let roles = self.roles.len();
        if roles == 0 || roles == clients {
            return Ok(());
        }
        Err(format!("it has {clients} clients, and the roles of `{name}` make {roles}"))
    }

    /// Returns the clients in classes of those with the same role and the same options.
    pub fn classes(&self, clients: u8) -> Vec<Vec<ClientId>> {
        let said = |client: &ClientId| {
            let options = self.clients.get(client.index()).or(self.clients.last());
            (self.roles.get(client.index()), options)
        };
        let mut classes: Vec<Vec<ClientId>> = Vec::new();
        for client in ClientId::first(clients) {
            match classes.iter_mut().find(|class| said(&class[0]) == said(&client)) {
                Some(class) => class.push(client),
                None => classes.push(vec![client]),
            }
        }
        classes
    }

    /// Overrides the drawn values with the settings.
    pub(crate) fn apply(&self, config: &mut Config) {
        config.options = self.servers.clone();
        for (index, client) in config.clients.iter_mut().enumerate() {
            if let Some(said) = self.clients.get(index).or(self.clients.last()) {
                said.apply(client);
            }
        }
    }

    /// Returns the roles with their clients, as in `coordinator: client 1; site: clients 2 to 3`; `None` if there are
    /// no roles.
    pub fn roles_told(&self) -> Option<String> {
        let mut told: Vec<(&str, Vec<String>)> = Vec::new();
        for (number, role) in (1..).zip(&self.roles) {
            match told.last_mut().filter(|(last, _)| *last == &**role) {
                Some((_, numbers)) => numbers.push(format!("{number}")),
                None => told.push((role, vec![format!("{number}")])),
            }
        }
        let each = told.into_iter().map(|(role, numbers)| match numbers.as_slice() {
            [one] => format!("{role}: client {one}"),
            [first, .., last] => format!("{role}: clients {first} to {last}"),
            [] => unreachable!("a role is told of a client"),
        });
        Some(each.collect::<Vec<_>>().join("; ")).filter(|told| !told.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roles(names: &[&str]) -> Settings {
        let roles = names.iter().map(|name| Arc::from(*name)).collect();
        Settings { roles, ..Settings::default() }
    }

    #[test]
    fn roles_are_told_by_client() {
        let told = |names: &[&str]| roles(names).roles_told();
        assert_eq!(told(&[]), None);
        let one = "coordinator: client 1; site: clients 2 to 4";
        assert_eq!(told(&["coordinator", "site", "site", "site"]).as_deref(), Some(one));
    }

    #[test]
    fn a_case_has_as_many_clients_as_there_are_roles() {
        let settings = roles(&["coordinator", "site"]);
        assert_eq!(settings.takes_clients("votes", 2), Ok(()));
        assert_eq!(Settings::default().takes_clients("votes", 7), Ok(()));
        let sentence = "it has 3 clients, and the roles of `votes` make 2";
        assert_eq!(settings.takes_clients("votes", 3), Err(sentence.to_string()));
    }

    #[test]
    fn clients_of_a_class_have_the_same_role_and_options() {
        let classes = |settings: Settings, clients| -> Vec<Vec<u16>> {
            let numbers = |class: Vec<ClientId>| class.iter().map(|client| client.0).collect();
            settings.classes(clients).into_iter().map(numbers).collect()
        };
        assert_eq!(classes(Settings::default(), 3), [vec![1, 2, 3]]);
        assert_eq!(classes(roles(&["site", "site"]), 2), [vec![1, 2]]);
        let three = roles(&["site", "coordinator", "site"]);
        assert_eq!(classes(three, 3), [vec![1, 3], vec![2]]);
        let said = |clients| Settings { clients, ..Settings::default() };
        let below = ClientOptions::new().chroot("/app");
        assert_eq!(classes(said(vec![below.clone()]), 2), [vec![1, 2]]);
        // The last options are those of all further clients.
        let two = said(vec![below, ClientOptions::new()]);
        assert_eq!(classes(two, 3), [vec![1], vec![2, 3]]);
    }

    #[test]
    fn what_is_said_goes_before_what_is_drawn() {
        let mut config = Config::new(3, 3);
        let (first, others) =
            (ClientOptions::new(), ClientOptions::new().chroot("/app").address("10.0.0.7"));
        let settings = Settings { clients: vec![first, others], ..Settings::default() };
        settings.apply(&mut config);
        let chroots: Vec<&str> = config.clients.iter().map(|client| &*client.chroot).collect();
        assert_eq!(chroots, ["", "/app", "/app"]);
        let addresses: Vec<&str> = config.clients.iter().map(|client| &*client.address).collect();
        assert_eq!(addresses, ["127.0.0.1", "10.0.0.7", "10.0.0.7"]);
    }

    #[test]
    fn an_address_has_four_numbers() {
        let sentence = "`address(\"10.0.0\")` is no IPv4 address";
        assert_eq!(ClientOptions::new().address("10.0.0").check(), Err(sentence.to_string()));
        assert_eq!(ClientOptions::new().address("10.0.0.7").check(), Ok(()));
    }
}
