//! 128-bit fingerprints, the same on every machine and in every build.
//!
//! States are told apart and runs are identified by SipHash-1-3 with 128 bits of output (crate
//! `rustc-stable-hash`): it does not depend on the CPU, the pointer width or the process.

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

    /// Adds a part of an unordered collection (wrapping sum, so the order does not matter).
    pub fn add(&mut self, part: Fingerprint) {
        self.0 = self.0.wrapping_add(part.0);
    }

    /// Takes a part out again.
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

/// Written as 32 hexadecimal digits, as it is printed: JSON numbers are too small for it.
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
    /// A hasher that has seen nothing.
    pub fn new() -> StableHasher {
        StableHasher(StableSipHasher128::new())
    }

    /// The fingerprint of all that was written.
    pub fn finished(self) -> Fingerprint {
        self.0.finish()
    }

    /// The fingerprint of all that was written; the hasher can go on afterwards.
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

    /// The component, to be changed: the cached fingerprint is forgotten.
    pub fn make_mut(&mut self) -> &mut T {
        if self.cached.get().is_some() {
            self.cached = OnceLock::new();
        }
        Arc::make_mut(&mut self.value)
    }
}

impl<T> Tracked<T> {
    /// Whether both are the same value in memory: then they are equal.
    pub fn shares(&self, other: &Tracked<T>) -> bool {
        Arc::ptr_eq(&self.value, &other.value)
    }
}

impl<T> Tracked<T> {
    /// Whether both are one and the same, because neither has changed since one was cloned from the
    /// other. Equal components need not be.
    pub fn is_shared_with(&self, other: &Tracked<T>) -> bool {
        Arc::ptr_eq(&self.value, &other.value)
    }
}

impl<T: Hash> Tracked<T> {
    /// The component's fingerprint, from the cache where it is fresh.
    pub fn fingerprint(&self) -> Fingerprint {
        *self.cached.get_or_init(|| self.recomputed_fingerprint())
    }

    /// The component's fingerprint computed anew, to check the cache against.
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
