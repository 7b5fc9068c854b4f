//! The client side of a session: scene by scene, and through random lives.

mod connecting;
mod ending;
mod random;
mod requests;
mod scene;
mod watches;
