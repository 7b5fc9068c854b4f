//! The exhaustive explorer.

pub mod memo;
pub mod trie;
