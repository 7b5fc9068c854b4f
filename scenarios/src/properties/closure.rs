//! A user's closure in a property, and the results that it may return.

use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

/// A closure of a property.
///
/// It is not part of the property's hash, and need not be. The hash distinguishes the *states* of one monitor, which
/// has a fixed index in the list of monitors that a run or a search gets at its beginning (`Monitors::fingerprint`
/// goes by index). All compared states are copies of that one monitor, and have the same closure: like the name, it
/// is a constant. A closure that changes what it has captured (a `Cell`, an atomic, a static) breaks this: its copies
/// share memory, which the claim in every report of a search excludes.
pub(super) struct Closure<F: ?Sized>(pub(super) Arc<F>);

impl<F: ?Sized> Clone for Closure<F> {
    fn clone(&self) -> Closure<F> {
        Closure(Arc::clone(&self.0))
    }
}

impl<F: ?Sized> Hash for Closure<F> {
    fn hash<H: Hasher>(&self, _state: &mut H) {}
}

impl<F: ?Sized> Deref for Closure<F> {
    type Target = F;
    fn deref(&self) -> &F {
        &self.0
    }
}

/// A result of a property's closure: whether the condition holds (`bool`), what is wrong (`Result<(), String>`), or
/// either (`Result<bool, String>`, convenient with `?` on fields).
pub trait Judgement {
    /// Converts the result; `unsaid` makes the sentence if the closure returns none.
    ///
    /// # Errors
    /// A sentence, if the property does not hold.
    fn judged(self, unsaid: &dyn Fn() -> String) -> Result<(), String>;
}

impl Judgement for bool {
    fn judged(self, unsaid: &dyn Fn() -> String) -> Result<(), String> {
        if self { Ok(()) } else { Err(unsaid()) }
    }
}

impl Judgement for Result<(), String> {
    fn judged(self, _unsaid: &dyn Fn() -> String) -> Result<(), String> {
        self
    }
}

impl Judgement for Result<bool, String> {
    fn judged(self, unsaid: &dyn Fn() -> String) -> Result<(), String> {
        self?.judged(unsaid)
    }
}
