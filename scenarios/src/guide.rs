//! The guide, chapter by chapter: the files of `scenarios/guide`.
//!
//! | | |
//! |---|---|
//! | [`first_test`] | a program, its sessions and its unknown writes; a sweep and a search of it |
//! | [`properties`] | what programs report, invariants in one line, a monitor of your own |
//! | [`faults`] | their kinds and rates, and sweeps by command |
//! | [`searching`] | budgets, verdicts, and what is left out; searches over servers |
//! | [`failure`] | how to read a failure, and how to replay it |
//! | [`recipes`] | locks, elections, queues and others, ready to use |
//! | [`production`] | a program or recipe in a service, on real servers |
//! | [`any_client`] | the modelled ensemble on sockets, for programs in any language |
//! | [`real_servers`] | the model against real servers, and defects of today's ZooKeeper |
//! | [`which_zookeeper`] | what each release of ZooKeeper can lose |
//! | [`published_fixes`] | repairs of public bug reports that are violated too |
//! | [`compared`] | the recipes of Curator, kazoo and zookeeper-client under the same faults |

// Documentation tests only compile the chapters' tests; `.ci/user` runs them.
#![allow(clippy::test_attr_in_doctest)]

/// A module for each chapter. Markdown takes the first definition of a link: here a module, in the files another file.
macro_rules! chapters {
    ($($name:ident: $file:literal,)*) => {$(
        #[doc = "[failure]: crate::guide::failure"]
        #[doc = "[faults]: crate::guide::faults"]
        #[doc = "[first-test]: crate::guide::first_test"]
        #[doc = "[properties]: crate::guide::properties"]
        #[doc = "[real-servers]: crate::guide::real_servers"]
        #[doc = "[recipes]: crate::guide::recipes"]
        #[doc = "[searching]: crate::guide::searching"]
        #[doc = "[table]: crate::properties"]
        #[doc = ""]
        #[doc = include_str!(concat!("../guide/", $file))]
        pub mod $name {}
    )*};
}

chapters! {
    first_test: "first-test.md",
    properties: "properties.md",
    faults: "faults.md",
    searching: "searching.md",
    failure: "failure.md",
    recipes: "recipes.md",
    production: "production.md",
    any_client: "any-client.md",
    real_servers: "real-servers.md",
    which_zookeeper: "which-zookeeper.md",
    published_fixes: "what-published-fixes-miss.md",
    compared: "compared.md",
}
