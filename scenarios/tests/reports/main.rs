//! Public bug reports of programs over ZooKeeper, each as a small program of ours: what was reported is found, and
//! the published repair is judged. Ids and facts are the reports'; nothing of their code is here.
//!
//! | Report | What went wrong | Its repair |
//! |---|---|---|
//! | Dubbo 5125 | a provider takes the znode of its ended session for its registration | violated too: a late delete of an earlier process hits the next registration |
//! | KAFKA-7165 | a broker is refused by the znode of its own ended session | violated too (KAFKA-14845): the session whose create had no answer was never noted down |
//! | Patroni 774 | a node fails because its old leader key is gone before it deletes it | violated too: the delete hits the key of the next leader |
//! | CURATOR-444 | a latch goes on leading although a list shows that it is not first | violated too (CURATOR-696): it leads by the znode of a session that it has given up |
//!
//! `scenarios/guide/what-published-fixes-miss.md` tells these four step by step. A file has the program with its
//! variants: as reported, as repaired, and one that is right, which is shown to hold.

mod curator_444;
mod dubbo_5125;
mod judged;
mod kafka_7165;
mod patroni_774;
