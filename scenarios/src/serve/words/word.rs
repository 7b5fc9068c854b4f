//! The four-letter words and which of them a server executes.

use super::{Reset, Status};
use std::collections::BTreeSet;

/// A four-letter word: a command that a client sends in place of a connect request.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Word {
    /// The configuration.
    Conf,
    /// The connections, in full.
    Cons,
    /// Resets the counters of connections.
    Crst,
    /// The sizes of the directories.
    Dirs,
    /// The sessions, ephemerals and expiry of connections.
    Dump,
    /// The environment.
    Envi,
    /// The trace mask.
    Gtmk,
    /// The digests of the database.
    Hash,
    /// `ro` for a read-only server, else `rw`.
    Isro,
    /// The metrics, one to a line.
    Mntr,
    /// `imok` from any server that runs.
    Ruok,
    /// Resets the counters of the server.
    Srst,
    /// The state and the counters of the server.
    Srvr,
    /// [`Word::Srvr`] with the connections in brief.
    Stat,
    /// Sets the trace mask to the eight bytes that follow, a big-endian number.
    Stmk,
    /// The watched paths by session.
    Wchc,
    /// The watching sessions by path.
    Wchp,
    /// The number of watches.
    Wchs,
}

/// Each word with its letters.
const WORDS: [(Word, &str); 18] = [
    (Word::Conf, "conf"),
    (Word::Cons, "cons"),
    (Word::Crst, "crst"),
    (Word::Dirs, "dirs"),
    (Word::Dump, "dump"),
    (Word::Envi, "envi"),
    (Word::Gtmk, "gtmk"),
    (Word::Hash, "hash"),
    (Word::Isro, "isro"),
    (Word::Mntr, "mntr"),
    (Word::Ruok, "ruok"),
    (Word::Srst, "srst"),
    (Word::Srvr, "srvr"),
    (Word::Stat, "stat"),
    (Word::Stmk, "stmk"),
    (Word::Wchc, "wchc"),
    (Word::Wchp, "wchp"),
    (Word::Wchs, "wchs"),
];

impl Word {
    /// Returns every word.
    pub fn all() -> impl Iterator<Item = Word> {
        WORDS.into_iter().map(|(word, _)| word)
    }

    /// Returns the word that the first four bytes of a connection are; `None` if they are the length of a packet.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 4]) -> Option<Word> {
        WORDS.into_iter().find(|(_, name)| name.as_bytes() == bytes).map(|(word, _)| word)
    }

    /// Returns the four letters.
    #[must_use]
    pub fn name(self) -> &'static str {
        WORDS.into_iter().find(|(word, _)| *word == self).map_or("", |(_, name)| name)
    }

    /// Returns the counters that a serving server resets when it executes the word.
    #[must_use]
    pub fn reset(self) -> Option<Reset> {
        match self {
            Word::Srst => Some(Reset::Server),
            Word::Crst => Some(Reset::Connections),
            _ => None,
        }
    }
}

/// The words that a server executes: those of its setting `4lw.commands.whitelist`, and `srvr`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Whitelist(BTreeSet<Word>);

impl Whitelist {
    /// Reads the setting: words with commas between them, or `*` for all. Unknown words are ignored. `isro` is always
    /// executed if the server has read-only mode enabled.
    #[must_use]
    pub fn new(setting: &str, read_only_mode: bool) -> Whitelist {
        let names: Vec<&str> = setting.split(',').map(str::trim).collect();
        let all = names.contains(&"*");
        let executed = |word: &Word| match word {
            Word::Srvr => true,
            Word::Isro if read_only_mode => true,
            _ => all || names.contains(&word.name()),
        };
        Whitelist(Word::all().filter(executed).collect())
    }

    /// Returns true if the server executes the word.
    #[must_use]
    pub fn allows(&self, word: Word) -> bool {
        self.0.contains(&word)
    }

    /// Returns the answer of a server with this whitelist.
    #[must_use]
    pub fn answer(&self, word: Word, status: &Status) -> String {
        if self.allows(word) {
            word.answer(status)
        } else {
            format!("{} is not executed because it is not in the whitelist.\n", word.name())
        }
    }
}

impl Default for Whitelist {
    fn default() -> Whitelist {
        Whitelist::new("", false)
    }
}
