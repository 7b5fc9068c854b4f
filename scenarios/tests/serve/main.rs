//! The served ensemble, with the client for production and with sockets that speak no protocol at all.
#![cfg(feature = "serve")]

mod by_http;
mod faults;
mod hostile;
mod observations;
#[cfg(feature = "cli")]
mod process;
mod records;
mod words;

use std::time::Duration;
use tokio::time::timeout;
use vivarium::serve::{Ensemble, ServeOptions};
use vivarium_client::{Client, Error};

/// Longer than anything here takes on a busy machine.
pub(crate) const SOON: Duration = Duration::from_secs(30);

pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    timeout(SOON, future).await.expect("it takes too long")
}

pub(crate) async fn ensemble(options: ServeOptions) -> Ensemble {
    soon(Ensemble::with(options)).await.expect("ports are free")
}

pub(crate) async fn connect(ensemble: &Ensemble) -> Client {
    let builder = Client::builder(&ensemble.connect_string());
    let builder = builder.session_timeout(Duration::from_secs(8)).reconnect_within(Duration::ZERO);
    soon(builder.connect()).await.expect("the ensemble has a leader")
}

pub(crate) async fn command(ensemble: &Ensemble, line: &str) -> String {
    let command = line.parse().expect("it is a command");
    soon(ensemble.command(command)).await.unwrap_or_else(|wrong| panic!("{line}: {wrong}"))
}

/// Repeats a request until its outcome is known.
pub(crate) async fn settled<T, F: Future<Output = Result<T, Error>>>(
    request: impl Fn() -> F,
) -> Result<T, Error> {
    soon(async {
        loop {
            match request().await {
                Err(Error::ConnectionLoss) => {}
                settled => return settled,
            }
        }
    })
    .await
}
