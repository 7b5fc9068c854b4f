//! Sequence numbers, and the end of their range.

/// Whether a sequential znode's number says nothing about its place among the others: the counter was at its
/// end, 2147483647, or beyond (recipe rule 1.2.6). Smaller numbers of one parent are in the order of the creates.
///
/// Where one of several znodes has such a number, the czxids of all of them say the order.
///
/// ```
/// use vivarium_recipes::helpers::is_exhausted;
///
/// assert!(!is_exhausted(7));
/// assert!(is_exhausted(i32::MAX) && is_exhausted(-7));
/// ```
pub fn is_exhausted(number: i32) -> bool {
    !(0..i32::MAX).contains(&number)
}
