//! Published descriptions of recipes, taken literally: each with the steps of its text, reporting what the
//! recipe here reports, so that the same properties judge it.

pub mod page_queue;
pub mod tutorial_queue;
