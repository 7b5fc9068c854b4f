//! A user's closure inside of a property, and what it may answer.

use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

/// A closure of a property.
///
/// It is no part of the property's hash, and need not be. A hash tells the *states* of one monitor
/// apart, those that lie at the same place of the one list of monitors that a run or a search is given
/// at its beginning (`Monitors::fingerprint` goes by places). All that are compared are copies of that
/// one monitor, and have this very closure: it is a constant of theirs, like their name. So it could
/// only tell apart what is never compared. A closure that changes what it has captured (a `Cell`, an
/// atomic, a static) breaks this: its copies share something, which is what the claim in every report of
/// a search excludes.
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

/// What a closure of a property answers: whether it holds (`bool`), or what is wrong
/// (`Result<(), String>`), or either (`Result<bool, String>`, handy with `?` on fields).
pub trait Judgement {
    /// What is wrong; `unsaid` says it where the closure does not.
    ///
    /// # Errors
    /// The property does not hold.
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
