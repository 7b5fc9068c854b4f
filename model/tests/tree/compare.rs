//! Compares a tree with the reference in everything that can be asked of it.

use crate::reference::Reference;
use std::fmt::Debug;
use vivarium_model::tree::DataTree;
use vivarium_model::zxid::Zxid;

/// Returns the first difference between the tree and the reference, including statistics of quotas.
pub(crate) fn compare(tree: &DataTree, reference: &Reference) -> Result<(), String> {
    compare_all(tree, reference, |_| false)
}

/// The same for a tree that was recovered from a snapshot with this label. Statistics of quotas must be right if
/// counting has been orderly since then; and all of them must be right once more after loading.
pub(crate) fn compare_recovered(
    tree: &DataTree,
    reference: &Reference,
    label: Zxid,
) -> Result<(), String> {
    compare_all(tree, reference, |path| reference.quotas.may_differ(path, label))?;
    let (mut again, mut expected) = (tree.clone(), reference.clone());
    again.count_quotas_anew();
    expected.count_quotas_anew();
    same(|| "digest after counting".to_owned(), &again.digest(), &tree.digest())?;
    for (path, fields) in expected.znodes.range("/zookeeper/quota".to_owned()..) {
        // Without limits nothing is counted, so the statistics keep their last content.
        let has_limits = expected.znodes.contains_key(&path.replace("_stats", "_limits"));
        if path.ends_with("/zookeeper_stats") && has_limits {
            let node = again.node(path).ok_or_else(|| format!("no {path}"))?;
            same(|| format!("{path} counted anew"), &node.data.to_vec(), &fields.data)?;
        }
    }
    Ok(())
}

fn compare_all(
    tree: &DataTree,
    reference: &Reference,
    may_differ: impl Fn(&str) -> bool,
) -> Result<(), String> {
    if tree.digest() != tree.recomputed_digest() {
        return Err("the digest is not that of the content".to_owned());
    }
    let what = |what: &'static str| move || what.to_owned();
    same(what("last processed zxid"), &tree.last_processed(), &reference.last_processed)?;
    same(what("sessions"), tree.sessions(), &reference.sessions)?;
    let paths: Vec<&str> = tree.nodes().map(|(path, _)| path.as_str()).collect();
    let expected: Vec<&str> = reference.znodes.keys().map(String::as_str).collect();
    same(what("paths"), &paths, &expected)?;
    for path in expected {
        compare_znode(tree, reference, path, may_differ(path))?;
    }
    let reaped: Vec<String> = tree.reaped().map(ToString::to_string).collect();
    same(what("containers and TTL znodes"), &reaped, &reference.reaped())?;
    let owners = reference.znodes.values().filter_map(|fields| fields.ephemeral_type.owner());
    for session in owners.chain(reference.sessions.keys().copied()) {
        let ephemerals: Vec<String> = tree.ephemerals(session).map(ToString::to_string).collect();
        let what = || format!("ephemerals of {session}");
        same(what, &ephemerals, &reference.owned_by(session))?;
    }
    Ok(())
}

fn compare_znode(
    tree: &DataTree,
    reference: &Reference,
    path: &str,
    but_data: bool,
) -> Result<(), String> {
    let of = |what: &'static str| move || format!("{what} of {path}");
    let fields = &reference.znodes[path];
    let (_, node, count) = tree.find(path).ok_or_else(|| format!("no {path}"))?;
    let (mut stat, mut expected) = (tree.stat(path), reference.stat(path));
    if but_data {
        stat.as_mut().expect("found above").data_length = 0;
        expected.data_length = 0;
    } else {
        same(of("data"), &&*node.data, &&*fields.data)?;
    }
    same(of("Stat"), &stat, &Some(expected))?;
    let children = tree.children(path).expect("found above");
    let children: Vec<String> = children.iter().map(ToString::to_string).collect();
    same(of("children"), &children, &reference.children(path))?;
    same(of("number of children"), &(count as usize), &children.len())?;
    let below = format!("{}/", path.trim_end_matches('/'));
    let below = reference.znodes.keys().filter(|it| it.starts_with(&below) && *it != "/");
    same(of("number of descendants"), &tree.descendants(path), &below.count())?;
    same(of("stored cversion"), &node.cversion, &fields.children_created)?;
    same(of("ephemeral type"), &node.ephemeral_type, &fields.ephemeral_type)?;
    same(of("ACL"), &node.acl, &fields.acl)
}

fn same<T: PartialEq + Debug>(
    what: impl Fn() -> String,
    tree: &T,
    reference: &T,
) -> Result<(), String> {
    if tree == reference { Ok(()) } else { Err(format!("{}: {tree:?}, not {reference:?}", what())) }
}
