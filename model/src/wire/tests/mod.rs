//! Round trips of every packet, and the bytes of a few as ZooKeeper's own code writes them.

mod bytes;
mod generate;
mod round_trip;
