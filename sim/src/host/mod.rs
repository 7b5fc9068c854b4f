//! The hosts: what polls the programs of a simulated world.
//!
//! Both feed one input to one program and let it run until it blocks, so the same inputs yield the
//! same outputs and a seed's run has the same hash under either; each checks the other.
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

/// Whether this build has the madsim host.
pub const fn madsim_available() -> bool {
    cfg!(madsim)
}
