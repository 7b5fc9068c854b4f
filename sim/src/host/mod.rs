//! Hosts, which poll the programs of a simulated world.
//!
//! Each host feeds one input to one program and runs the program until it blocks. The same inputs yield the same
//! outputs, so a seed's run has the same hash under either host, and each host checks the other.
//!
//! * [`DirectHost`] polls the programs itself.
//! * `MadsimHost` makes each program a node of a madsim runtime. It exists only where the build has
//!   the compiler flag `--cfg madsim`.

mod direct;
#[cfg(madsim)]
mod madsim;
pub(crate) mod timed;

pub use self::direct::DirectHost;
#[cfg(madsim)]
pub use self::madsim::MadsimHost;

/// Returns true if this build has the madsim host.
pub const fn madsim_available() -> bool {
    cfg!(madsim)
}
