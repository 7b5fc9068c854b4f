//! The modelled ensemble behind real sockets: programs in any language, with their own ZooKeeper clients, run against it.
//!
//! Each server listens at a port of its own and speaks ZooKeeper's client protocol. Faults happen when a test asks for them
//! ([`Command`]). Everything is a step, so the run can be recorded into a case file, and the monitors of servers judge it
//! while it goes on.
//!
//! ```no_run
//! use vivarium::serve::Ensemble;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let ensemble = Ensemble::start().await?;
//! println!("connect to {}", ensemble.connect_string());
//! ensemble.command("crash 2".parse()?).await?;
//! let ended = ensemble.stop().await;
//! assert_eq!(ended.violation, None);
//! # Ok(())
//! # }
//! ```

mod carried_out;
mod chaos;
mod clock;
mod command;
mod connection;
mod core;
mod counters;
mod http;
mod observe;
mod options;
mod peer;
mod recorder;
mod status;
mod view;
mod virtual_time;
#[doc(hidden)]
pub mod words;

pub use chaos::ServedFault;
pub use command::{COMMANDS, Command};
pub use options::{ServeOptions, Tell};

use self::core::{Core, Shared, keep_time, strike};
use chaos::Chaos;
use recorder::Recorder;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{AbortHandle, LocalSet, spawn_local};
use virtual_time::pass_virtual_time;
use vivarium_model::id::ServerId;
use vivarium_model::property::Objection;
use vivarium_model::time::Time;

/// How often the record is written.
const RECORDS: Duration = Duration::from_millis(500);

/// How often listeners follow their servers.
const LISTENERS: Duration = Duration::from_millis(20);

/// Why an ensemble cannot be served.
#[derive(Debug, Error)]
pub enum ServeError {
    /// A port cannot be used.
    #[error("server {server} cannot listen at {address}: {error}")]
    Listen {
        /// The number of the server.
        server: u8,
        /// Its address.
        address: SocketAddr,
        /// The cause.
        error: io::Error,
    },
    /// The port for HTTP cannot be used.
    #[error("commands by HTTP cannot be taken at {address}: {error}")]
    Http {
        /// The address.
        address: SocketAddr,
        /// The cause.
        error: io::Error,
    },
    /// The record cannot be written.
    #[error("the record cannot be written into {path}: {error}")]
    Record {
        /// The file.
        path: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// A number that makes no sense.
    #[error("{0}")]
    Options(String),
    /// The thread of the ensemble cannot begin.
    #[error("the ensemble's thread cannot begin: {0}")]
    Thread(io::Error),
    /// The ensemble has ended by itself.
    #[error("the ensemble has ended by itself")]
    Ended,
}

/// The result of a served run.
#[derive(Clone, Debug, Default)]
pub struct Ended {
    /// The steps that were taken.
    pub steps: u64,
    /// The first property that was violated.
    pub violation: Option<Objection>,
    /// The sessions that were not judged to their end: their clients re-attached with a smaller zxid than they had read.
    pub unjudged: usize,
    /// The observations that a property needs and no program has made: that property could not object.
    pub unobserved: BTreeSet<Arc<str>>,
}

/// Asked of the ensemble's thread.
enum Asked {
    Do(Box<dyn FnOnce(&mut Core) + Send>),
    Stop(oneshot::Sender<Ended>),
}

/// A modelled ensemble behind real sockets, in a thread of its own, until it is dropped or stopped.
#[derive(Debug)]
pub struct Ensemble {
    addresses: Vec<SocketAddr>,
    http: Option<SocketAddr>,
    asks: mpsc::UnboundedSender<Asked>,
    thread: Option<JoinHandle<()>>,
}

impl Ensemble {
    /// Serves three servers without defects on free ports of the loopback address.
    ///
    /// # Errors
    /// If no port is free.
    pub async fn start() -> Result<Ensemble, ServeError> {
        Ensemble::with(ServeOptions::default()).await
    }

    /// Serves an ensemble with these settings.
    ///
    /// # Errors
    /// See [`ServeError`].
    pub async fn with(options: ServeOptions) -> Result<Ensemble, ServeError> {
        options.check().map_err(ServeError::Options)?;
        let (asks, asked) = mpsc::unbounded_channel();
        let (started, starts) = oneshot::channel();
        let by_http = asks.clone();
        let thread = std::thread::Builder::new()
            .name("vivarium serve".to_owned())
            .spawn(move || thread(options, by_http, asked, started))
            .map_err(ServeError::Thread)?;
        let Addresses { servers, http } = starts.await.map_err(|_| ServeError::Ended)??;
        Ok(Ensemble { addresses: servers, http, asks, thread: Some(thread) })
    }

    /// Returns the address at which commands and views can be had by HTTP ([`ServeOptions::http`]).
    pub fn http(&self) -> Option<SocketAddr> {
        self.http
    }

    /// Returns the address of each server.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Returns the connect string of all servers.
    pub fn connect_string(&self) -> String {
        let all: Vec<String> = self.addresses.iter().map(SocketAddr::to_string).collect();
        all.join(",")
    }

    /// Carries out a command and returns its answer.
    ///
    /// # Errors
    /// A sentence if it cannot be done.
    pub async fn command(&self, command: Command) -> Result<String, String> {
        let done = self.ask(move |core| core.command(&command)).await;
        done.ok_or_else(|| ServeError::Ended.to_string())?
    }

    /// Writes the record so far into another file.
    ///
    /// # Errors
    /// A sentence if the run is not recorded ([`ServeOptions::record`]), or the file cannot be written.
    pub async fn save(&self, path: &Path) -> Result<(), String> {
        let path = path.to_path_buf();
        let done = self.ask(move |core| core.save_record(&path)).await;
        done.ok_or_else(|| ServeError::Ended.to_string())?
    }

    /// Returns the first property that was violated so far.
    pub async fn violation(&self) -> Option<Objection> {
        self.ask(|core| core.served.violation().cloned()).await.flatten()
    }

    /// Asks the ensemble's thread; `None` if it has ended.
    async fn ask<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&mut Core) -> T + Send + 'static,
    ) -> Option<T> {
        let (sender, answer) = oneshot::channel();
        let asked = Asked::Do(Box::new(move |core| drop(sender.send(ask(core)))));
        self.asks.send(asked).ok()?;
        answer.await.ok()
    }

    /// Ends the ensemble and its connections, and completes its record.
    pub async fn stop(mut self) -> Ended {
        let (sender, answer) = oneshot::channel();
        let _ = self.asks.send(Asked::Stop(sender));
        let ended = answer.await.unwrap_or_default();
        self.join();
        ended
    }

    fn join(&mut self) {
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Ensemble {
    fn drop(&mut self) {
        let (sender, _) = oneshot::channel();
        let _ = self.asks.send(Asked::Stop(sender));
        self.join();
    }
}

/// Where the ensemble listens.
struct Addresses {
    servers: Vec<SocketAddr>,
    http: Option<SocketAddr>,
}

type Started = oneshot::Sender<Result<Addresses, ServeError>>;

/// The thread of an ensemble.
fn thread(
    options: ServeOptions,
    asks: mpsc::UnboundedSender<Asked>,
    asked: mpsc::UnboundedReceiver<Asked>,
    started: Started,
) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return drop(started.send(Err(ServeError::Thread(error)))),
    };
    LocalSet::new().block_on(&runtime, async move {
        match begin(&options).await {
            Ok((core, listeners)) => {
                let http = match by_http(&options).await {
                    Ok(http) => http,
                    Err(error) => return drop(started.send(Err(error))),
                };
                let at = |listener: &TcpListener| listener.local_addr().ok();
                let servers = listeners.iter().filter_map(at).collect();
                let _ = started.send(Ok(Addresses { servers, http: http.as_ref().and_then(at) }));
                if let Some(listener) = http {
                    spawn_local(http::serve(listener, asks));
                }
                serve(core, listeners, &options, asked).await;
            }
            Err(error) => drop(started.send(Err(error))),
        }
    });
}

async fn begin(options: &ServeOptions) -> Result<(Shared, Vec<TcpListener>), ServeError> {
    let mut listeners = Vec::new();
    for server in 1..=options.servers {
        let address = options.address_of(server);
        let listener = TcpListener::bind(address).await;
        listeners.push(listener.map_err(|error| ServeError::Listen { server, address, error })?);
    }
    let recorder = match &options.record {
        None => None,
        Some(path) => Some(
            Recorder::create(path)
                .map_err(|error| ServeError::Record { path: path.clone(), error })?,
        ),
    };
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = Time(u64::try_from(since.as_micros()).unwrap_or(0));
    let port = |listener: &TcpListener| listener.local_addr().map_or(0, |it| it.port());
    let ports = listeners.iter().map(port).collect();
    let mut core = Core::start(options, ports, recorder, now);
    core.begin_record();
    Ok((Rc::new(RefCell::new(core)), listeners))
}

/// Listens for HTTP, if that is asked for.
async fn by_http(options: &ServeOptions) -> Result<Option<TcpListener>, ServeError> {
    let Some(port) = options.http else { return Ok(None) };
    let address = SocketAddr::new(options.address, port);
    let listener = TcpListener::bind(address).await;
    listener.map(Some).map_err(|error| ServeError::Http { address, error })
}

async fn serve(
    core: Shared,
    listeners: Vec<TcpListener>,
    options: &ServeOptions,
    mut asked: mpsc::UnboundedReceiver<Asked>,
) {
    match options.virtual_time {
        true => drop(spawn_local(pass_virtual_time(Rc::clone(&core)))),
        false => drop(spawn_local(keep_time(Rc::clone(&core)))),
    }
    spawn_local(record(Rc::clone(&core)));
    if let Some(seed) = options.chaos {
        let chaos = Chaos::new(seed, options.servers, &options.faults, core.borrow().clock.now());
        let told = options.tell.clone();
        spawn_local(strike(Rc::clone(&core), chaos, move |command| told.tell(command)));
    }
    for (server, listener) in (1..).map(ServerId).zip(listeners) {
        spawn_local(listen(Rc::clone(&core), server, listener, options.connections));
    }
    while let Some(asked) = asked.recv().await {
        match asked {
            Asked::Do(ask) => ask(&mut core.borrow_mut()),
            Asked::Stop(answer) => {
                let mut core = core.borrow_mut();
                core.write_record();
                let violation = core.served.violation().cloned();
                let unjudged = core.served.ensemble().unjudged_outside();
                let (steps, unobserved) =
                    (core.served.steps(), std::mem::take(&mut core.unobserved));
                let _ = answer.send(Ended { steps, violation, unjudged, unobserved });
                return;
            }
        }
    }
}

/// Writes the record now and then.
async fn record(core: Shared) {
    loop {
        tokio::time::sleep(RECORDS).await;
        core.borrow_mut().write_record();
    }
}

/// Accepts the connections of a server. While it is down its port is closed.
async fn listen(core: Shared, server: ServerId, listener: TcpListener, most: usize) {
    let Ok(address) = listener.local_addr() else { return };
    let mut accepting: Option<AbortHandle> =
        Some(spawn_local(accept(Rc::clone(&core), server, listener, most)).abort_handle());
    loop {
        tokio::time::sleep(LISTENERS).await;
        let is_up = core.borrow().served.ensemble().is_up(server);
        match (is_up, &accepting) {
            (false, Some(open)) => {
                open.abort();
                accepting = None;
            }
            (true, None) => {
                // The port is ours again as soon as no other process has taken it.
                if let Ok(listener) = TcpListener::bind(address).await {
                    let task = spawn_local(accept(Rc::clone(&core), server, listener, most));
                    accepting = Some(task.abort_handle());
                }
            }
            _ => {}
        }
    }
}

async fn accept(core: Shared, server: ServerId, listener: TcpListener, most: usize) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) if core.borrow().connections() < most => {
                spawn_local(connection::serve(Rc::clone(&core), stream, server));
            }
            // One connection too many is closed at once.
            Ok(_) => {}
            // No file descriptor is free: wait for one.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}
