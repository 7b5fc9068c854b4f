//! Until a setACL is applied, the leader checks later requests against the old list, and each write that passes keeps
//! the old list for the next one (rules 1.9.6 and 4.3.1). Three servers, a few milliseconds apart; no faults.

use super::Variant;
use super::ensemble::{Ensemble, options};
use super::error::FindingError;
use super::narration::{Narration, Outcome};
use super::session::{PATIENCE, Session};
use crate::conform::Installation;
use std::collections::VecDeque;
use std::panic::resume_unwind;
use std::thread;
use std::time::{Duration, Instant};
use vivarium_model::acl::{Acl, AclList, Id, Permissions};
use vivarium_model::error::Error;
use vivarium_model::id::Xid;
use vivarium_model::op::{Op, Request, Version};

const CONFIG: &str = "/config";

/// The one-way delay between servers, as between data centres of one region.
const DISTANCE: Duration = Duration::from_millis(4);

/// Bound on the writes in flight.
const WINDOW: usize = 50;

/// How long the writer continues after the answer to the setACL.
const GOES_ON: Duration = Duration::from_secs(3);

/// Revokes a client's permission to write, while it has writes in flight or (in the control) none.
pub(super) fn reproduce(
    installation: &Installation,
    variant: Variant,
    tale: &mut Narration<'_>,
) -> Result<Outcome, FindingError> {
    let (ensemble, leader) = Ensemble::start_all(installation, 3, options())?;
    let follower = ensemble.others(leader)[0];
    let mut owner = ensemble.session(leader)?;
    owner.create(CONFIG)?;
    let mut writer = Writer::begin(ensemble.session(follower)?)?;
    for server in ensemble.all() {
        ensemble.links_to(server).for_each(|link| link.delay(DISTANCE));
    }
    tale.say(format!(
        "3 servers, {} ms apart, serve; a client writes {CONFIG}, with up to {WINDOW} writes under way",
        DISTANCE.as_millis()
    ));
    writer.write_for(Duration::from_secs(1))?;
    if variant == Variant::Control {
        writer.wait_for_all()?;
        tale.say("it waits until none is under way");
    }
    let revoked = thread::scope(|scope| {
        let revoking = scope.spawn(|| owner.ask(revocation()));
        while variant == Variant::Defect && !revoking.is_finished() {
            writer.write_for(Duration::from_millis(5))?;
        }
        revoking.join().unwrap_or_else(|panic| resume_unwind(panic))
    })?;
    if let Err(error) = revoked.result {
        return Err(FindingError::Otherwise(format!("setACL was refused: {error}")));
    }
    tale.say(format!("setACL {CONFIG} world:anyone:r is answered, zxid {}", revoked.zxid));
    writer.write_for(GOES_ON)?;
    writer.wait_for_all()?;

    let (mut done, mut refused, mut last) = (0_u64, 0_u64, revoked.at);
    for answer in writer.session.answers().filter(|answer| answer.zxid > revoked.zxid) {
        match answer.result {
            Ok(_) => {
                done += 1;
                last = last.max(answer.at);
            }
            Err(Error::NoAuth) => refused += 1,
            Err(error) => return Err(FindingError::Otherwise(format!("a write got {error}"))),
        }
    }
    let late = last.duration_since(revoked.at).as_secs_f64();
    tale.say(format!("of the writes after it {done} succeed and {refused} are refused"));
    let after = writer.session.ask(write())?;
    tale.say(format!("a write when none is under way: {}", after.words()));
    Ok(match (done, refused) {
        (1.., _) => Outcome::Shown(format!(
            "{done} writes succeed after the setACL, the last {late:.2} s after it was answered"
        )),
        (0, 1..) => Outcome::Kept("every write after the setACL is refused".to_owned()),
        (0, 0) => Outcome::Inconclusive("there was no write after the setACL".to_owned()),
    })
}

/// A client that does not wait for an answer before its next write.
struct Writer {
    session: Session,
    under_way: VecDeque<Xid>,
}

impl Writer {
    fn begin(mut session: Session) -> Result<Writer, FindingError> {
        session.ask(write())?;
        Ok(Writer { session, under_way: VecDeque::new() })
    }

    fn write_for(&mut self, time: Duration) -> Result<(), FindingError> {
        let end = Instant::now() + time;
        while Instant::now() < end {
            while self.under_way.len() < WINDOW {
                self.under_way.push_back(self.session.send(write())?);
            }
            self.wait_for_one()?;
        }
        Ok(())
    }

    fn wait_for_all(&mut self) -> Result<(), FindingError> {
        while !self.under_way.is_empty() {
            self.wait_for_one()?;
        }
        Ok(())
    }

    fn wait_for_one(&mut self) -> Result<(), FindingError> {
        let Some(oldest) = self.under_way.pop_front() else { return Ok(()) };
        match self.session.answer(oldest, PATIENCE)? {
            Some(_) => Ok(()),
            None => Err(FindingError::NotSeen {
                what: "the answer to a write".to_owned(),
                patience: PATIENCE,
            }),
        }
    }
}

fn write() -> Request {
    Request::Write(Op::set_data(CONFIG, *b"x", Version::Any))
}

fn revocation() -> Request {
    let acl = AclList::new([Acl::new(Permissions::READ, Id::ANYONE)]);
    Request::SetAcl { path: CONFIG.into(), acl, version: Version::Any }
}
