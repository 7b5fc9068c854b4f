//! Who contends, and in which order (recipe rules 1.2.6 and 2.8.10).

use super::contender::{self, Contender, Kind};
use super::recovery::list;
use crate::helpers::until_known;
use vivarium_model::error::Error;
use vivarium_model::handle::ZooKeeper;
use vivarium_model::zxid::Zxid;

/// The names of a directory's children, and of those that contend the places in the line where the names do not
/// say them.
pub(crate) struct Line {
    names: Vec<String>,
    /// As many as names; none for one that does not contend, or whose number says its place.
    created: Vec<Option<Zxid>>,
}

impl Line {
    /// Lists, without a watch.
    ///
    /// Where a number says nothing any more, every contender's znode is read. One that has gone meanwhile may
    /// have left its place to a reader (recipe rule 2.10.3): then it lists again.
    ///
    /// # Errors
    /// `SessionExpired`, or the server's refusal.
    pub(crate) async fn read(zookeeper: &ZooKeeper, directory: &str) -> Result<Line, Error> {
        'list: loop {
            let names = list(zookeeper, directory).await?.unwrap_or_default();
            let contenders = || names.iter().filter_map(|name| Contender::parse(name));
            let mut created = vec![None; names.len()];
            if contenders().all(|contender| contender.is_placed_by_number()) {
                return Ok(Line { names, created });
            }
            for (name, created) in names.iter().zip(&mut created) {
                let Some(contender) = Contender::parse(name) else { continue };
                let path = contender::child(directory, name);
                *created = match until_known(zookeeper, || zookeeper.get_data(&path)).await {
                    Ok((data, stat)) => Some(place(contender.kind(), &data, stat.czxid)),
                    Err(Error::NoNode) => continue 'list,
                    Err(error) => return Err(error),
                };
            }
            return Ok(Line { names, created });
        }
    }

    /// The names of all children.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// The contenders, each with its place.
    pub(crate) fn contenders(&self) -> Vec<Contender<'_>> {
        let placed = self.names.iter().zip(&self.created).filter_map(|(name, created)| {
            let contender = Contender::parse(name)?;
            Some(created.map_or(contender, |created| contender.created_at(created)))
        });
        placed.collect()
    }
}

/// What the znode of a reader holds that has the place of a writer: which transaction created the writer's.
pub(super) fn inheritance(place: Zxid) -> String {
    format!("{INHERITED}{:x}", place.0)
}

const INHERITED: &str = "place ";

/// Where a contender stands. Only readers inherit: what a candidate's znode holds is its own affair.
fn place(kind: Kind, data: &[u8], czxid: Zxid) -> Zxid {
    match kind {
        Kind::Read => inherited(data).unwrap_or(czxid),
        Kind::Exclusive | Kind::Write | Kind::Lease => czxid,
    }
}

fn inherited(data: &[u8]) -> Option<Zxid> {
    let place = std::str::from_utf8(data).ok()?.strip_prefix(INHERITED)?;
    u64::from_str_radix(place, 16).ok().map(Zxid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inherited_place_is_read_as_it_was_written() {
        let writers = Zxid(0x1_0000_00ff);
        assert_eq!(inheritance(writers), "place 1000000ff");
        assert_eq!(inherited(inheritance(writers).as_bytes()), Some(writers));
        for other in ["", "place ", "place x", "here"] {
            assert_eq!(inherited(other.as_bytes()), None, "{other:?}");
        }
        // Whoever leads can say of itself what it likes.
        let (says, own) = (inheritance(Zxid(1)), Zxid(7));
        assert_eq!(place(Kind::Exclusive, says.as_bytes(), own), own);
        assert_eq!(place(Kind::Read, says.as_bytes(), own), Zxid(1));
    }
}
