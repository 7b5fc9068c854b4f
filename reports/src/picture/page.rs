//! The page: a picture as one HTML file that makes no request to any network.
//!
//! The page holds the picture as JSON, and the scripts in `page/` draw it. Each script has one duty and sees the names
//! of those before it.

use super::Picture;
use super::places::assert_complete;

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

/// Returns the picture as a self-contained HTML file. Fails if a position in it leads nowhere.
pub fn page(picture: &Picture) -> String {
    assert_complete(picture);
    let scripts = format!("(() => {{\n\"use strict\";\n{}}})();\n", SCRIPTS.concat());
    fill(&[
        ("@title@", &escaped(&picture.title)),
        ("@style@", STYLE),
        ("@data@", &embedded(picture)),
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

/// Returns the picture as JSON that can stand in a `<script>` element: without `<`, nothing in it ends the element or
/// begins a comment.
fn embedded(picture: &Picture) -> String {
    serde_json::to_string(picture).expect("a picture has no maps").replace('<', "\\u003c")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
