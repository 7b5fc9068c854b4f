pub mod contender;
pub mod mutant;
pub mod properties;
