//! What quotas count (rule 1.10), from the outside: which paths have limits, what their
//! statistics then say, and which of the statistics can be relied upon.
//!
//! Statistics are no part of the history. A server that loads a snapshot counts anew, and so can come
//! to other numbers than one that went on counting, where the counting was not orderly: limits that
//! came after the statistics, one quota inside another, a client that wrote the statistics.

use crate::reference::{Fields, above};
use std::collections::{BTreeMap, BTreeSet};
use vivarium_model::zxid::Zxid;

const QUOTA: &str = "/zookeeper/quota";

#[derive(Clone, Debug, Default)]
pub(crate) struct Quotas {
    /// The paths that have limits.
    limited: BTreeSet<String>,
    /// Since when the statistics of a path say exactly what there is, where they do.
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

    /// The nearest path above with limits hears of it.
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

    /// Whether these are statistics that someone who loads a snapshot with this label may have other
    /// numbers in.
    pub(crate) fn may_differ(&self, path: &str, label: Zxid) -> bool {
        let since = |subject| self.exact.get(subject).copied();
        subject(path, "zookeeper_stats").is_some_and(|it| since(it).is_none_or(|it| it > label))
    }

    /// How many statistics are exact since this or before.
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

/// The numbers of statistics; none, for what a client wrote there, is -1.
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

/// `/a` for `/zookeeper/quota/a/` and a name.
fn subject<'a>(path: &'a str, name: &str) -> Option<&'a str> {
    let subject = path.strip_prefix(QUOTA)?.strip_suffix(name)?.strip_suffix('/')?;
    (!subject.is_empty()).then_some(subject)
}
