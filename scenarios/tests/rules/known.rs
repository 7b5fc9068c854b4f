//! Imports that break the rules and are accepted, each with its reason. An entry without an import fails the test.

use crate::imports::Known;

/// Accepted imports of a higher layer, or that close a cycle.
pub(crate) const IMPORTS: [Known; 6] = [
    Known {
        from: "model::program::machines",
        to: "model::client",
        why: "each program has a client machine, which all that it asks goes through",
    },
    Known {
        from: "model::vocabulary::effect",
        to: "model::client",
        why: "`Effects` has room for a client machine's effects, so that a step allocates none",
    },
    Known {
        from: "model::vocabulary::effect",
        to: "model::program",
        why: "`Effects` has room for what passes a client machine, so that a step allocates none",
    },
    Known {
        from: "model::vocabulary::note",
        to: "model::program",
        why: "a note holds the input that a program received, or what the program did",
    },
    Known {
        from: "model::world",
        to: "model::property",
        why: "a world runs the monitors, and monitors look at the world's history",
    },
    Known {
        from: "sim::every::trie::table",
        to: "sim::every::trie::node",
        why: "a node's table holds edges, and an edge leads to a node",
    },
];
