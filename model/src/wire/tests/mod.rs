//! Every packet there and back again, and the bytes of a few as ZooKeeper's own code writes them.

mod bytes;
mod generate;
mod round_trip;
