//! H15 and H16: a client machine does exactly what its program asks and what its servers' packets require.
//!
//! The monitors judge the packets and calls that pass the machine ([`Exchange`](crate::exchange::Exchange)), as the
//! surrounding code reports them. They state independently what `ClientCnxn` does: they use none of the client
//! machine's code, and rely on nothing that it reports itself.

mod account;
mod chroot;
mod faithful;
mod punctual;
#[cfg(test)]
mod testing;
mod watches;

pub use faithful::FaithfulClient;
pub use punctual::PunctualClient;
