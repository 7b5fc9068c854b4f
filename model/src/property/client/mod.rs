//! H15 and H16: what a client machine makes of what it is asked and of what its servers send.
//!
//! Both are judged by what passes the machine ([`Exchange`](crate::exchange::Exchange)), which the code around
//! it tells, and state once more what `ClientCnxn` does: nothing of the client machine's code is used, and its word is
//! not taken for anything.

mod account;
mod chroot;
mod faithful;
mod punctual;
#[cfg(test)]
mod testing;
mod watches;

pub use faithful::FaithfulClient;
pub use punctual::PunctualClient;
