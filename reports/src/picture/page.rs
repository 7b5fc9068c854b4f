//! The page: a picture as one HTML file that makes no request to any network.
//!
//! The page holds the picture as JSON, and the scripts in `page/` draw it. Each script has one duty and sees the names
//! of those before it.

use super::Picture;
use super::places::assert_complete;
use serde::Serialize;

const TEMPLATE: &str = include_str!("page/page.html");

const STYLE: &str = concat!(include_str!("page/page.css"), include_str!("page/print.css"));

const SCRIPTS: &[&str] = &[
    include_str!("page/data.js"),
    include_str!("page/filter.js"),
    include_str!("page/scale.js"),
    include_str!("page/marks.js"),
    include_str!("page/draw.js"),
    include_str!("page/overview.js"),
    include_str!("page/head.js"),
    include_str!("page/panel.js"),
    include_str!("page/hover.js"),
    include_str!("page/print.js"),
    include_str!("page/main.js"),
];

/// The script of a walk, and the panel that it fills.
const WALK: (&str, &str) = (include_str!("page/walk.js"), include_str!("page/walk.html"));

/// The content security policies: a picture requests nothing, and a walk requests only from its own server.
const REQUESTS_NOTHING: &str = "default-src 'none'";
const REQUESTS_ITS_OWN: &str = "default-src 'none'; connect-src 'self'";

/// Returns the picture as a self-contained HTML file. Fails if a position in it leads nowhere.
pub fn page(picture: &Picture) -> String {
    let scripts = [&SCRIPTS.concat(), "start();\n"].concat();
    filled(picture, REQUESTS_NOTHING, STYLE, "", "null", &scripts)
}

/// Returns the page of a walk at one place, as an HTML file that requests only from its own server. `state` is what the
/// walk's script reads of the place besides the picture. Fails if a position in the picture leads nowhere.
pub fn walk_page(picture: &Picture, state: &serde_json::Value) -> String {
    let (script, panel) = WALK;
    let scripts = [&SCRIPTS.concat(), script, "start();\nstartWalk();\n"].concat();
    let style = [STYLE, include_str!("page/walk.css")].concat();
    filled(picture, REQUESTS_ITS_OWN, &style, panel, &embedded(state), &scripts)
}

fn filled(
    picture: &Picture,
    policy: &str,
    style: &str,
    panel: &str,
    state: &str,
    scripts: &str,
) -> String {
    assert_complete(picture);
    let scripts = format!("(() => {{\n\"use strict\";\n{scripts}}})();\n");
    fill(&[
        ("@policy@", policy),
        ("@title@", &escaped(&picture.title)),
        ("@style@", style),
        ("@walk@", panel),
        ("@data@", &embedded(picture)),
        ("@state@", state),
        ("@scripts@", &scripts),
    ])
}

/// Puts the parts into the template, from its beginning to its end. A marker inside of a part stays as it is.
fn fill(parts: &[(&str, &str)]) -> String {
    let mut text = String::new();
    let mut rest = TEMPLATE;
    for (marker, part) in parts {
        let (before, after) =
            rest.split_once(marker).expect("the template has every marker, in this order");
        text.push_str(before);
        text.push_str(part);
        rest = after;
    }
    text + rest
}

/// Returns data as JSON that can stand in a `<script>` element: without `<`, nothing in it ends the element or begins a
/// comment.
fn embedded(data: &impl Serialize) -> String {
    serde_json::to_string(data).expect("all keys of maps are texts").replace('<', "\\u003c")
}

/// Escapes a text for an element or an attribute in double quotes.
pub(crate) fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', "&quot;")
}
