//! Public bug reports of programs over ZooKeeper, each as a small program of ours: the reported mistake is found, and
//! the published repair is judged. Ids and facts come from the reports; nothing of their code is here.
//!
//! | Report | What went wrong | Found by | Its repair |
//! |---|---|---|---|
//! | Dubbo 5125 | a provider considers the znode of its ended session its registration | seed 4; 96 states | violated too: a late delete of an earlier process hits the next registration |
//! | KAFKA-7165 | a broker is refused by the znode of its own ended session | seed 36; 80 states | violated too (KAFKA-14845): the session whose create had no answer was never recorded |
//! | Patroni 774 | a node fails because its old leader key is gone before it deletes it | seed 46; 130 states | violated too: the delete hits the key of the next leader |
//! | CURATOR-444 | a latch continues to lead although a list shows that it is not first | seed 0; 10,109 states | violated too (CURATOR-696): it leads by the znode of a session that it has given up |
//! | CURATOR-18 | a latch that is closed while its create is pending stays in the line | seed 0; 4 states | held |
//! | CURATOR-498 | a repeated create finds the znode of a session that ends | seed 76 | held |
//! | CURATOR-620 | two concurrent resets delete the znode of a leader | seed 4; 11,415 states | held (pull request 430) |
//! | CURATOR-645 | two candidates reset each other without end | 7,867 states | held (pull request 430) |
//! | CURATOR-653 | a reset that is concurrent with a look at the list deletes the znode of a leader | seed 18; 106,733 states | held (pull request 430) |
//! | CURATOR-724 | the latch's directory is gone, and a candidate waits for ever | seed 49; 83 states | held (pull request 515) |
//! | kazoo 563 | a directory that is deleted fails an acquire | seed 14; 331 states | none is published; held if the directory is created again |
//! | kazoo 649 | a reader waits for a later writer, which waits for it | seed 23; 91 states | held (pull request 650) |
//! | kazoo 732 | an attempt that does not wait leaves its znode in the line | seed 200; 2,019 states | held (pull request 760) |
//! | go-zookeeper 229 | a create without an answer leaves a znode that its client waits for | seed 36; 1,749 states | none is published; held if the create is recognised by an id |
//! | Helix, pull request 44 | a predecessor that is gone before the watch is set wakes no contender | seed 123; 95 states | held |
//! | Vault 4491 | a release that fails keeps the office | seed 14; 1,361 states | violated (pull request 4569): all of its attempts can fail |
//! | Helix 641 | the event of an ended session creates a participant's znode in the next one | seed 0; 44 states | held (pull request 642) |
//! | Storm 1941 | the end of a session deletes a nimbus's entry | seed 4; 117 states | violated (pull request 1534): a late delete of an earlier process |
//! | Storm 2674 | two executors delete the same record, and one fails | seed 11; 52 states | held (pull request 2256) |
//! | DolphinScheduler, pull request 353 | the same | seed 11; 52 states | violated: the look before the delete proves nothing |
//! | YARN-11626 | a repeated delete fails with NoNode | seed 14; 27 states | held (pull request 6616) |
//! | ClickHouse, pull request 81395 | a worker does not mark its replica in a session that another thread has begun | 154 states | held |
//! | ClickHouse, pull request 118457 | a mark that is gone before it is deleted seems to show that the replica is active elsewhere | seed 2,675; 93 states | violated: a late create of an earlier process shows the same |
//! | KAFKA-6082 | a controller that has been replaced writes after its successor | seed 347; 17,151 states | held (pull request 5101) |
//! | KAFKA-13407 | a broker finds itself elected, and does nothing | seed 13; 491 states | violated (pull request 11476): the znode of an ended session of the same broker |
//! | Schema registry 131 | the master's znode is deleted before it is read, and no broker tries again | seed 18; 77 states | held |
//! | FLINK-10052 | a lost connection ends leadership, although the session lives | seed 0; 92 states | held; strictly, two lead until the first one can know |
//! | FLINK-14091 | a connection that was lost once ends all checkpoints | seed 13; 22 states | held (pull request 10754) |
//!
//! `scenarios/guide/what-published-fixes-miss.md` tells the first four step by step. Each file has the programs with
//! their variants: as reported, as repaired, and a correct one, which is shown to hold. Seeds and states are those of
//! one build; each test prints its own (`--nocapture`).

mod curator;
mod curator_444;
mod dubbo_5125;
mod flink;
mod judged;
mod kafka;
mod kafka_7165;
mod lines;
mod patroni_774;
mod registered;
