//! The client side of a session: scene by scene, and through random lives.

mod authenticating;
mod chroot;
mod connecting;
mod ending;
mod giving_up;
mod judged;
mod persistent;
mod random;
mod read_only;
mod requests;
mod scene;
mod watches;
