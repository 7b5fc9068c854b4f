//! Published texts of recipes, taken literally: the steps numbered as in the text, and the observations of the
//! recipe that is right, so that the same monitors judge them.

pub mod two_phase_commit;
