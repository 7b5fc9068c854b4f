//! 128-bit fingerprints, the same on every machine and in every build.
//!
//! States and runs are identified by SipHash-1-3 with 128 bits of output (crate `rustc-stable-hash`), which depends
//! on neither the CPU, nor the pointer width, nor the process.

use rustc_stable_hash::{FromStableHash, SipHasher128Hash, StableSipHasher128};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

/// A 128-bit fingerprint.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(into = "String", try_from = "String")]
pub struct Fingerprint(pub u128);

impl FromStableHash for Fingerprint {
    type Hash = SipHasher128Hash;
    fn from(SipHasher128Hash([high, low]): SipHasher128Hash) -> Fingerprint {
        Fingerprint(u128::from(high) << 64 | u128::from(low))
    }
}

impl Fingerprint {
    /// The fingerprint of one value.
    pub fn of<T: Hash + ?Sized>(value: &T) -> Fingerprint {
        let mut hasher = StableHasher::new();
        value.hash(&mut hasher);
        hasher.finished()
    }

    /// Adds an element of an unordered collection. The sum wraps, so the order of the elements does not matter.
    pub fn add(&mut self, part: Fingerprint) {
        self.0 = self.0.wrapping_add(part.0);
    }

    /// Removes an element that was added before.
    pub fn subtract(&mut self, part: Fingerprint) {
        self.0 = self.0.wrapping_sub(part.0);
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl From<Fingerprint> for String {
    fn from(fingerprint: Fingerprint) -> String {
        fingerprint.to_string()
    }
}

/// Parses 32 hexadecimal digits, the form in which it is printed. A JSON number cannot hold 128 bits.
impl TryFrom<String> for Fingerprint {
    type Error = String;
    fn try_from(text: String) -> Result<Fingerprint, String> {
        let digits = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        match u128::from_str_radix(&text, 16) {
            Ok(value) if digits => Ok(Fingerprint(value)),
            _ => Err(format!("`{text}` is not a fingerprint of 32 hexadecimal digits")),
        }
    }
}

/// A hasher whose result is a [`Fingerprint`].
#[derive(Clone, Debug, Default)]
pub struct StableHasher(StableSipHasher128);

impl StableHasher {
    /// Returns a hasher without input.
    pub fn new() -> StableHasher {
        StableHasher(StableSipHasher128::new())
    }

    /// Returns the fingerprint of all bytes written.
    pub fn finished(self) -> Fingerprint {
        self.0.finish()
    }

    /// Returns the fingerprint of all bytes written so far; more can be written afterwards.
    pub fn fingerprint(&self) -> Fingerprint {
        self.0.clone().finish()
    }
}

impl Hasher for StableHasher {
    fn finish(&self) -> u64 {
        self.fingerprint().0 as u64
    }
    fn write(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }
    fn write_u8(&mut self, value: u8) {
        self.0.write_u8(value);
    }
    fn write_u16(&mut self, value: u16) {
        self.0.write_u16(value);
    }
    fn write_u32(&mut self, value: u32) {
        self.0.write_u32(value);
    }
    fn write_u64(&mut self, value: u64) {
        self.0.write_u64(value);
    }
    fn write_usize(&mut self, value: usize) {
        self.0.write_usize(value);
    }
    fn write_isize(&mut self, value: isize) {
        self.0.write_isize(value);
    }
}

/// A shared, copy-on-write component of a state, with its fingerprint cached until it next changes.
///
/// Cloning is a reference count; the first change after a clone copies the component. Equality and
/// hashing are those of the value.
pub struct Tracked<T> {
    value: Arc<T>,
    cached: OnceLock<Fingerprint>,
}

impl<T: Clone> Tracked<T> {
    /// Wraps a component.
    pub fn new(value: T) -> Tracked<T> {
        Tracked { value: Arc::new(value), cached: OnceLock::new() }
    }

    /// Returns the component for a change and drops the cached fingerprint.
    pub fn make_mut(&mut self) -> &mut T {
        if self.cached.get().is_some() {
            self.cached = OnceLock::new();
        }
        Arc::make_mut(&mut self.value)
    }
}

impl<T> Tracked<T> {
    /// Returns true if both point to the same value in memory; then the two are equal.
    pub fn shares(&self, other: &Tracked<T>) -> bool {
        Arc::ptr_eq(&self.value, &other.value)
    }
}

impl<T> Tracked<T> {
    /// Returns true if both point to the same value in memory, because neither has changed since one was cloned from
    /// the other. Equal components need not be shared.
    pub fn is_shared_with(&self, other: &Tracked<T>) -> bool {
        Arc::ptr_eq(&self.value, &other.value)
    }
}

impl<T: Hash> Tracked<T> {
    /// Returns the component's fingerprint, from the cache if it has not changed since.
    pub fn fingerprint(&self) -> Fingerprint {
        *self.cached.get_or_init(|| self.recomputed_fingerprint())
    }

    /// Recomputes the component's fingerprint, to check the cache.
    pub fn recomputed_fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&*self.value)
    }
}

impl<T> Deref for Tracked<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> Clone for Tracked<T> {
    fn clone(&self) -> Tracked<T> {
        Tracked { value: Arc::clone(&self.value), cached: self.cached.clone() }
    }
}

impl<T: PartialEq> PartialEq for Tracked<T> {
    fn eq(&self, other: &Tracked<T>) -> bool {
        Arc::ptr_eq(&self.value, &other.value) || self.value == other.value
    }
}

impl<T: Eq> Eq for Tracked<T> {}

impl<T: Hash> Hash for Tracked<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.fingerprint().hash(state);
    }
}

impl<T: fmt::Debug> fmt::Debug for Tracked<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}
