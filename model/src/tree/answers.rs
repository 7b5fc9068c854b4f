//! What answers to reads contain that does not follow from the history: the statistics of quotas (rule 1.10.3), and the
//! configuration that servers write into `/zookeeper/config` by themselves (rule 5.8.10).

use super::quota::is_statistics;
use crate::vocabulary::error::Error;
use crate::vocabulary::op::{Data, ReadOp, ReadResult, Request, Response};
use crate::vocabulary::path::{CONFIG, RECONFIGURED};
use crate::vocabulary::stat::Stat;
use crate::vocabulary::zxid::Zxid;

/// Returns true if two answers to a request are equal except for what does not follow from the history.
pub(crate) fn same_answer(
    request: &Request,
    one: &Result<Response, Error>,
    other: &Result<Response, Error>,
) -> bool {
    one == other || of_history(request, one) == of_history(request, other)
}

/// Returns true if a part of what this znode's readers see does not follow from the history.
pub(crate) fn is_beside_history(path: &str) -> bool {
    is_statistics(path) || path == CONFIG
}

/// Returns the part of an answer that follows from the history.
fn of_history(request: &Request, result: &Result<Response, Error>) -> Result<Response, Error> {
    let told = |op: &ReadOp, result: ReadResult| match (op, result) {
        (ReadOp::GetData { path }, ReadResult::Data(data, stat)) => {
            let (data, stat) = content(path, data, stat);
            ReadResult::Data(data, stat)
        }
        (_, result) => result,
    };
    Ok(match (request, result.clone()?) {
        (Request::MultiRead(ops), Response::MultiRead(results)) => {
            let results = ops.iter().zip(results);
            Response::MultiRead(results.map(|(op, result)| told(op, result)).collect())
        }
        (
            Request::Exists { path, .. }
            | Request::GetData { path, .. }
            | Request::GetChildren { path, .. }
            | Request::GetAcl { path }
            | Request::SetAcl { path, .. },
            response,
        ) => {
            let stat_of = |stat| content(path, Data::from([]), stat).1;
            match response {
                Response::Exists(stat) => Response::Exists(stat_of(stat)),
                Response::Data(data, stat) => {
                    let (data, stat) = content(path, data, stat);
                    Response::Data(data, stat)
                }
                Response::Children(names, stat) => Response::Children(names, stat_of(stat)),
                Response::Acl(acl, stat) => Response::Acl(acl, stat_of(stat)),
                Response::AclSet(stat) => Response::AclSet(stat_of(stat)),
                other => other,
            }
        }
        (_, other) => other,
    })
}

/// Returns the part of a znode's content and Stat that follows from the history. A configuration that no server has written
/// is that of a first start, so it counts as written.
fn content(path: &str, data: Data, stat: Stat) -> (Data, Stat) {
    if is_statistics(path) {
        return (Data::from([]), Stat { data_length: 0, ..stat });
    }
    let is_first = stat.mzxid == Zxid::ZERO && stat.version == 0;
    if path == CONFIG && (stat.version == RECONFIGURED || is_first) {
        let (mzxid, mtime, version, data_length) = (Zxid::ZERO, 0, 0, 0);
        return (Data::from([]), Stat { mzxid, mtime, version, data_length, ..stat });
    }
    (data, stat)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocabulary::acl::AclList;
    use crate::vocabulary::op::Version;

    fn get(path: &str) -> Request {
        Request::GetData { path: path.into(), watch: false }
    }

    fn data(text: &str, version: i32) -> Result<Response, Error> {
        let stat =
            Stat { version, mzxid: Zxid(7), data_length: text.len() as u32, ..Stat::default() };
        Ok(Response::Data(Data::from(text.as_bytes()), stat))
    }

    /// A configuration that servers write may differ, and nothing else.
    #[test]
    fn only_a_written_configuration_is_left_out() {
        let (one, other) = (data("version=1", RECONFIGURED), data("version=2", RECONFIGURED));
        assert!(same_answer(&get(CONFIG), &one, &other));
        assert!(same_answer(
            &get(CONFIG),
            &one,
            &Ok(Response::Data(Data::from([]), Stat::default()))
        ));
        assert!(!same_answer(&get("/a"), &one, &other));
        assert!(
            !same_answer(&get(CONFIG), &data("a", 1), &data("b", 1)),
            "a client has written it"
        );
        assert!(!same_answer(&get(CONFIG), &one, &Err(Error::NoNode)));
        let aversion = |stat: Stat| Ok(Response::Exists(Stat { aversion: 5, ..stat }));
        let exists = Request::Exists { path: CONFIG.into(), watch: false };
        let plain: Result<_, Error> = Ok(Response::Exists(Stat::default()));
        assert!(!same_answer(&exists, &aversion(Stat::default()), &plain));
    }

    #[test]
    fn answers_differ_in_statistics_alone() {
        let statistics = "/zookeeper/quota/a/zookeeper_stats";
        let stat = |data_length, version| Stat { data_length, version, ..Stat::default() };
        let data =
            |text: &str, version| (Data::from(text.as_bytes()), stat(text.len() as u32, version));
        for (path, may_differ) in [(statistics, true), ("/a", false)] {
            let ops = vec![ReadOp::GetData { path: path.into() }];
            let (many, acl) = (Request::MultiRead(ops), AclList::OPEN);
            let one = Request::GetData { path: path.into(), watch: false };
            let set_acl = Request::SetAcl { path: path.into(), acl, version: Version::Any };
            let answer = |request: &Request, text, version| {
                let (data, stat) = data(text, version);
                Ok(match request {
                    Request::MultiRead(_) => {
                        Response::MultiRead(vec![ReadResult::Data(data, stat)])
                    }
                    Request::SetAcl { .. } => Response::AclSet(stat),
                    _ => Response::Data(data, stat),
                })
            };
            for request in [many, one, set_acl] {
                let same = |one: &Result<_, _>, other| same_answer(&request, one, &other);
                let told = answer(&request, "count=1", 3);
                assert_eq!(same(&told, answer(&request, "count=10", 3)), may_differ, "{request}");
                assert!(same(&told, told.clone()), "{request}");
                assert!(!same(&told, answer(&request, "count=1", 4)), "{request}");
                assert!(!same(&told, Err(Error::NoNode)), "{request}");
            }
        }
    }
}
