//! The page of a walk and its requests, by HTTP.
//!
//! The page holds its scripts and styles, and asks only this server: for the state of a place, to take a step, and to
//! save a way. A place never changes, so a page that was opened earlier stays valid.

use super::{Refused, State, Walking};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr, TcpListener, ToSocketAddrs};
use std::panic::{AssertUnwindSafe, catch_unwind};
use tiny_http::{Header, Method, Request, Response, Server};
use vivarium_model::words::panic_message;
use vivarium_reports::picture::page::walk_page;

/// Listens for the browser.
pub(crate) struct Listener {
    server: Server,
    address: SocketAddr,
    /// The host as the user has written it.
    host: String,
}

impl Listener {
    /// Listens at an address, such as `localhost:3000`.
    ///
    /// # Errors
    /// One sentence that says why no browser can be served there.
    pub(crate) fn open(text: &str) -> Result<Listener, String> {
        let refused = |why: String| format!("no browser can be served at `{text}`: {why}");
        let mut addresses = text
            .to_socket_addrs()
            .map_err(|error| refused(format!("{error}; write e.g. `localhost:3000`")))?;
        let address = addresses.next().ok_or_else(|| refused("no such host".into()))?;
        let listener = TcpListener::bind(address).map_err(|error| {
            refused(format!("{error}; give another port, or port 0 for a free one"))
        })?;
        let address = listener.local_addr().map_err(|error| refused(error.to_string()))?;
        let server = Server::from_listener(listener, None);
        let server = server.map_err(|error| refused(error.to_string()))?;
        let host = text.rsplit_once(':').map_or(text, |(host, _)| host).to_owned();
        Ok(Listener { server, address, host })
    }

    /// Returns the address of the page.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Makes the server end, which otherwise lasts as long as the process.
    #[cfg(test)]
    pub(crate) fn close(&self) {
        self.server.unblock();
    }
}

/// Serves a walk until the process ends. Requests are answered one after the other.
pub(crate) fn serve(walking: &mut Walking, listener: &Listener) {
    for request in listener.server.incoming_requests() {
        let answer = match is_own(&request, &listener.host) {
            true => answer(walking, request.method(), request.url()),
            false => Answer::error(403, "requests of other pages are refused"),
        };
        // A reader who has left needs no answer.
        let _ = request.respond(answer.response());
    }
}

/// Returns true unless the request comes from a page of another server. Any page that a browser shows can send requests
/// to the loopback address, also under a host name of its own that resolves to it.
fn is_own(request: &Request, host: &str) -> bool {
    let header = |name: &'static str| {
        let found = request.headers().iter().find(|header| header.field.equiv(name));
        found.map(|header| header.value.as_str())
    };
    let asked = header("Host").unwrap_or_default();
    let name = asked.rsplit_once(':').map_or(asked, |(name, _)| name);
    let is_address = name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
    let is_ours = is_address || name == "localhost" || name == host;
    is_ours && header("Origin").is_none_or(|origin| origin == format!("http://{asked}"))
}

/// What is sent back.
pub(crate) struct Answer {
    pub(crate) status: u16,
    kind: &'static str,
    pub(crate) text: String,
}

impl Answer {
    fn json(value: &impl serde::Serialize) -> Answer {
        let text = serde_json::to_string(value).expect("all keys of maps are texts");
        Answer { status: 200, kind: "application/json", text }
    }

    fn error(status: u16, sentence: &str) -> Answer {
        Answer { status, ..Answer::json(&json!({ "error": sentence })) }
    }

    fn response(self) -> Response<std::io::Cursor<Vec<u8>>> {
        let kind = Header::from_bytes("Content-Type", self.kind).expect("it is a header");
        Response::from_string(self.text).with_status_code(self.status).with_header(kind)
    }
}

impl From<Refused> for Answer {
    fn from(refused: Refused) -> Answer {
        match refused {
            Refused::Unknown(sentence) => Answer::error(404, &sentence),
            Refused::Failed(sentence) => Answer::error(400, &sentence),
        }
    }
}

/// Answers a request.
pub(crate) fn answer(walking: &mut Walking, method: &Method, url: &str) -> Answer {
    let answered = catch_unwind(AssertUnwindSafe(|| answered(walking, method, url)));
    match answered {
        Ok(answer) => answer.unwrap_or_else(Answer::from),
        Err(payload) => {
            let message = panic_message(&*payload);
            Answer::error(500, &format!("Vivarium itself failed, please report it: {message}"))
        }
    }
}

fn answered(walking: &mut Walking, method: &Method, url: &str) -> Result<Answer, Refused> {
    let (path, query) = url.split_once('?').unwrap_or((url, ""));
    let parameters: Parameters = query.split('&').filter_map(|pair| pair.split_once('=')).collect();
    let wanted = match path {
        "/" | "/state" => Method::Get,
        "/take" | "/save" => Method::Post,
        _ => {
            let sentence = format!("there is nothing at `{path}`: the page is at `/`");
            return Err(Refused::Unknown(sentence));
        }
    };
    if *method != wanted {
        return Ok(Answer::error(405, &format!("`{path}` takes only {wanted}")));
    }
    match path {
        "/" => page(walking, &parameters),
        "/state" => Ok(Answer::json(&walking.state(number(&parameters, "at")?)?)),
        "/take" => {
            let (place, choice) = (number(&parameters, "at")?, number(&parameters, "choice")?);
            let place = walking.take(place, choice)?;
            Ok(Answer::json(&walking.state(place)?))
        }
        _ => {
            let saved = walking.save(number(&parameters, "at")?)?;
            Ok(Answer::json(&json!({ "file": saved.file, "replay": saved.replay })))
        }
    }
}

/// The parameters of a request.
type Parameters<'a> = BTreeMap<&'a str, &'a str>;

/// Reads a number among the parameters.
fn number(parameters: &Parameters<'_>, name: &str) -> Result<usize, Refused> {
    match parameters.get(name).map(|text| (text, text.parse())) {
        Some((_, Ok(number))) => Ok(number),
        Some((text, Err(_))) => Err(Refused::Failed(format!("`{name}={text}` is not a number"))),
        None => Err(Refused::Failed(format!("the request has no parameter `{name}`"))),
    }
}

fn page(walking: &Walking, parameters: &Parameters<'_>) -> Result<Answer, Refused> {
    let place = match parameters.contains_key("at") {
        true => number(parameters, "at")?,
        false => 0,
    };
    let state = walking.state(place)?;
    let text = walk_page(&state.picture, &without_picture(&state));
    Ok(Answer { status: 200, kind: "text/html; charset=utf-8", text })
}

/// Returns the state without its picture, which is in the page already.
fn without_picture(state: &State) -> Value {
    let mut value = serde_json::to_value(state).expect("all keys of maps are texts");
    if let Some(fields) = value.as_object_mut() {
        fields.remove("picture");
    }
    value
}
