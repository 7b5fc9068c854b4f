//! The exhaustive explorer.

pub mod memo;
pub mod recipes;
pub mod trie;
