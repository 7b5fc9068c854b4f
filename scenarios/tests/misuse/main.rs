//! The tool held wrong: whatever a user does, it ends in a right verdict or a sentence, never in a quiet
//! "held".

mod nondeterminism;
