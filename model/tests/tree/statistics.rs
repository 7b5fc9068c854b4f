//! The counting of quotas (rule 1.10), seen from outside: which paths have limits, what their statistics then
//! contain, and which of the statistics can be relied upon.
//!
//! Statistics are no part of the history. A server that loads a snapshot counts anew, so its numbers can differ from
//! those of a server that continued counting, if the counting was not orderly: limits that were set after the
//! statistics, one quota inside another, a client that wrote the statistics.

use crate::reference::{Fields, above};
use std::collections::{BTreeMap, BTreeSet};
use vivarium_model::zxid::Zxid;

const QUOTA: &str = "/zookeeper/quota";

#[derive(Clone, Debug, Default)]
pub(crate) struct Quotas {
    /// The paths that have limits.
    limited: BTreeSet<String>,
    /// For each path with exact statistics, the zxid since which they are exact.
    exact: BTreeMap<String, Zxid>,
}

type Znodes = BTreeMap<String, Fields>;

impl Quotas {
    pub(crate) fn was_created(&mut self, znodes: &mut Znodes, path: &str, zxid: Zxid) {
        if let Some(subject) = subject(path, "zookeeper_limits") {
            let nested = |other: &String| is_within(other, subject) || is_within(subject, other);
            self.exact.retain(|other, _| !nested(other));
            self.limited.insert(subject.to_owned());
        }
        if let Some(subject) = subject(path, "zookeeper_stats") {
            count(znodes, subject);
            let nested = |other: &&String| is_within(other, subject) || is_within(subject, other);
            if self.limited.contains(subject) && self.limited.iter().filter(nested).count() == 1 {
                self.exact.insert(subject.to_owned(), zxid);
            }
        }
    }

    pub(crate) fn was_deleted(&mut self, path: &str) {
        if let Some(subject) = subject(path, "zookeeper_limits") {
            self.limited.remove(subject);
            self.exact.remove(subject);
        }
        self.was_set(path);
    }

    pub(crate) fn was_set(&mut self, path: &str) {
        if let Some(subject) = subject(path, "zookeeper_stats") {
            self.exact.remove(subject);
        }
    }

    /// Adds to the statistics of the nearest path above that has limits.
    pub(crate) fn grew(&self, znodes: &mut Znodes, path: &str, count: i64, bytes: i64) {
        let mut at = path.to_owned();
        while !self.limited.contains(&at) {
            if at == "/" {
                return;
            }
            at = above(&at);
        }
        if let Some(fields) = znodes.get_mut(&format!("{QUOTA}{at}/zookeeper_stats")) {
            let now = numbers(&fields.data);
            fields.data = written(now.0 + count, now.1 + bytes);
        }
    }

    pub(crate) fn count_all(&self, znodes: &mut Znodes) {
        for subject in &self.limited {
            count(znodes, subject);
        }
    }

    /// Returns true for statistics in which a server that loads a snapshot with this label may have other numbers.
    pub(crate) fn may_differ(&self, path: &str, label: Zxid) -> bool {
        let since = |subject| self.exact.get(subject).copied();
        subject(path, "zookeeper_stats").is_some_and(|it| since(it).is_none_or(|it| it > label))
    }

    /// Returns the number of statistics that have been exact since this zxid or earlier.
    pub(crate) fn exact_since(&self, label: Zxid) -> usize {
        self.exact.values().filter(|since| **since <= label).count()
    }
}

fn count(znodes: &mut Znodes, subject: &str) {
    let within = || znodes.iter().filter(|(path, _)| is_within(path, subject));
    let bytes = within().map(|(_, fields)| fields.data.len() as i64).sum();
    let data = written(within().count() as i64, bytes);
    if let Some(fields) = znodes.get_mut(&format!("{QUOTA}{subject}/zookeeper_stats")) {
        fields.data = data;
    }
}

fn written(count: i64, bytes: i64) -> Vec<u8> {
    format!("count={count},bytes={bytes}").into_bytes()
}

/// Parses the numbers of statistics; a number that a client's content lacks is -1.
fn numbers(data: &[u8]) -> (i64, i64) {
    let text = String::from_utf8_lossy(data);
    let after = |name: &str| {
        let rest = &text[text.find(name)? + name.len()..];
        rest.split(',').next()?.parse().ok()
    };
    (after("count=").unwrap_or(-1), after("bytes=").unwrap_or(-1))
}

fn is_within(path: &str, subject: &str) -> bool {
    path == subject || path.starts_with(&format!("{subject}/"))
}

/// Returns `/a` for `/zookeeper/quota/a/` followed by a name.
fn subject<'a>(path: &'a str, name: &str) -> Option<&'a str> {
    let subject = path.strip_prefix(QUOTA)?.strip_suffix(name)?.strip_suffix('/')?;
    (!subject.is_empty()).then_some(subject)
}
