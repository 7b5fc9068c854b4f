//! Published texts, taken literally: each program follows the steps of one text, in its order and with its gaps, and is
//! checked by the monitors of the recipe that the text describes.
//!
//! Each module names the step at which the text goes wrong, and the property that it breaks. The texts do not mention
//! lost connections; the programs repeat what was lost as well as possible.

pub mod barrier_as_lock;
pub mod barrier_chapter;
pub mod barrier_same_view;
pub mod connection_is_session;
pub mod double_barrier;
pub mod double_barrier_any_leaves;
pub mod double_barrier_chain_exit;
pub mod double_barrier_chapter;
pub mod double_barrier_page;
pub mod double_barrier_tutorial;
pub mod election_next_node;
pub mod election_page;
pub mod lock;
pub mod lock_by_exists;
pub mod lock_node_smaller;
pub mod lock_older_text;
pub mod lock_text_order;
pub mod lock_without_recovery;
pub mod page_queue;
pub mod revocable_lock;
pub mod rw_lock_by_prefix;
pub mod rw_lock_garbled_reader;
pub mod tutorial_queue;
pub mod two_phase_commit;
