//! Commands and views by HTTP, for tests that do not own the process.

use super::Asked;
use super::command::Command;
use super::core::Core;
use super::observe::Observation;
use super::words;
use axum::extract::{DefaultBodyLimit, Path, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use vivarium_model::id::ServerId;

/// The longest body of a request.
const LONGEST: usize = 64 * 1024;

/// The description of the endpoint for tools.
const OPENAPI: &str = include_str!("openapi.json");

/// Asks the ensemble's thread.
#[derive(Clone)]
struct Asks(mpsc::UnboundedSender<Asked>);

impl Asks {
    async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&mut Core) -> T + Send + 'static,
    ) -> Result<T, Failed> {
        let (sender, answer) = oneshot::channel();
        let asked = Asked::Do(Box::new(move |core| drop(sender.send(read(core)))));
        self.0.send(asked).map_err(|_| Failed::Ended)?;
        answer.await.map_err(|_| Failed::Ended)
    }

    /// Reads something of a server that exists.
    async fn of_server<T: Send + 'static>(
        &self,
        server: u8,
        read: impl FnOnce(&mut Core, ServerId) -> Option<T> + Send + 'static,
    ) -> Result<T, Failed> {
        let found = self.read(move |core| {
            let id = ServerId(server);
            let is_known = core.served.ensemble().config().server_ids().any(|known| known == id);
            is_known.then(|| read(core, id)).ok_or(Failed::NoServer(server))
        });
        found.await??.ok_or(Failed::Down(server))
    }
}

/// Why a request is not answered with what it asks for.
enum Failed {
    Ended,
    NoServer(u8),
    Down(u8),
    Refused(String),
}

impl IntoResponse for Failed {
    fn into_response(self) -> Response {
        let (status, sentence) = match self {
            Failed::Ended => (StatusCode::GONE, "the ensemble has ended".to_owned()),
            Failed::NoServer(server) => {
                (StatusCode::NOT_FOUND, format!("there is no server {server}"))
            }
            Failed::Down(server) => (StatusCode::CONFLICT, format!("server {server} is down")),
            Failed::Refused(sentence) => (StatusCode::BAD_REQUEST, sentence),
        };
        (status, Json(json!({ "error": sentence }))).into_response()
    }
}

/// Serves until the ensemble ends.
pub(super) async fn serve(listener: TcpListener, asks: mpsc::UnboundedSender<Asked>) {
    let routes = Router::new()
        .route(
            "/openapi.json",
            get(async || ([(header::CONTENT_TYPE, "application/json")], OPENAPI)),
        )
        .route("/status", get(status))
        .route("/command", post(command))
        .route("/observe", post(observe))
        .route("/servers/{server}/tree", get(tree))
        .route("/servers/{server}/log", get(log))
        .route("/servers/{server}/watches", get(watches))
        .route("/servers/{server}/commands", get(links))
        .route("/servers/{server}/commands/{name}", get(admin))
        .layer(DefaultBodyLimit::max(LONGEST))
        .layer(middleware::from_fn(refuse_pages))
        .with_state(Asks(asks));
    // It ends with its runtime.
    let _ = axum::serve(listener, routes).await;
}

/// Refuses what a web page asks for: any page that a browser shows could send commands to the loopback address.
async fn refuse_pages(request: Request, next: Next) -> Response {
    if request.headers().contains_key(header::ORIGIN) {
        let sentence = "requests of web pages are refused";
        return (StatusCode::FORBIDDEN, Json(json!({ "error": sentence }))).into_response();
    }
    next.run(request).await
}

async fn status(State(asks): State<Asks>) -> Result<Json<Value>, Failed> {
    Ok(Json(asks.read(|core| core.view()).await?))
}

/// Carries out the command in the body, a line as on standard input.
async fn command(State(asks): State<Asks>, body: String) -> Result<Json<Value>, Failed> {
    let command: Command = body.trim().parse().map_err(Failed::Refused)?;
    let answer = asks.read(move |core| core.command(&command)).await?;
    answer.map(|answer| Json(json!({ "answer": answer }))).map_err(Failed::Refused)
}

/// Takes an observation, and says whether a property is violated.
async fn observe(State(asks): State<Asks>, body: String) -> Result<Json<Value>, Failed> {
    let observation: Observation = serde_json::from_str(&body)
        .map_err(|error| Failed::Refused(format!("this is no observation: {error}")))?;
    let taken = asks.read(move |core| core.observe(&observation)).await?;
    taken.map(|violation| Json(json!({ "violation": violation }))).map_err(Failed::Refused)
}

async fn tree(State(asks): State<Asks>, Path(server): Path<u8>) -> Result<Json<Value>, Failed> {
    asks.of_server(server, |core, id| core.tree_view(id)).await.map(Json)
}

async fn log(State(asks): State<Asks>, Path(server): Path<u8>) -> Result<Json<Value>, Failed> {
    asks.of_server(server, |core, id| Some(core.log_view(id))).await.map(Json)
}

async fn watches(State(asks): State<Asks>, Path(server): Path<u8>) -> Result<Json<Value>, Failed> {
    asks.of_server(server, |core, id| core.watches_view(id)).await.map(Json)
}

async fn links(Path(server): Path<u8>) -> Response {
    let page = words::links(&format!("/servers/{server}/commands"));
    ([(header::CONTENT_TYPE, "text/html;charset=utf-8")], page).into_response()
}

/// Answers as the admin server of a real server does at `/commands/NAME`.
async fn admin(
    State(asks): State<Asks>,
    Path((server, name)): Path<(u8, String)>,
) -> Result<Response, Failed> {
    let text = asks.of_server(server, move |core, id| Some(core.admin(id, &name))).await?;
    Ok(([(header::CONTENT_TYPE, "application/json")], text).into_response())
}
