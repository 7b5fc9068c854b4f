//! LQ2: two programs believe that they have claimed an item only if the session of the smaller token is closed; and
//! no program claims an item that was deleted before.
//!
//! A program learns of the end of its session only afterwards, as in M2 for a lock.

use super::claims::Claims;
use crate::ack_queue::AckSeen;
use std::collections::BTreeMap;
use std::sync::Arc;
use vivarium_model::event::Event;
use vivarium_model::id::ClientId;
use vivarium_model::minds;
use vivarium_model::path;
use vivarium_model::property::{Declaration, Declared, LooksBack, Objection, View};
use vivarium_model::zxid::Zxid;

/// See the module.
#[derive(Clone, Debug, Hash)]
pub struct OneClaimer {
    queue: Arc<str>,
    claims: Claims,
    /// The transaction that deleted each item.
    gone: BTreeMap<Arc<str>, Zxid>,
    /// The programs that believe they have claimed an item, by the item's name and the claim's token.
    believed: BTreeMap<(Arc<str>, Zxid), ClientId>,
}

impl OneClaimer {
    /// Watches the queue in this directory, from the start of the history.
    pub fn new(directory: &str) -> OneClaimer {
        OneClaimer {
            queue: directory.into(),
            claims: Claims::new(directory),
            gone: BTreeMap::new(),
            believed: BTreeMap::new(),
        }
    }

    fn claimed(
        &mut self,
        view: View<'_>,
        client: ClientId,
        item: &Arc<str>,
        token: Zxid,
    ) -> Result<(), Objection> {
        if self.claims.maker(token).is_none() {
            let saw = format!(
                "{client} has claimed {item} with token {token}, which is the czxid of no claim"
            );
            return Err(self.objection(saw));
        }
        if let Some(gone) = self.gone.get(item).filter(|gone| **gone < token) {
            let saw = format!(
                "{client} has claimed {item} with token {token}, although the item \
                 was deleted at {gone}"
            );
            return Err(self.objection(saw).about(*gone));
        }
        let is_open = |token: Zxid| {
            let session = self.claims.maker(token);
            session.is_some_and(|session| view.history.tree().sessions().contains_key(&session))
        };
        let others = self.believed.iter().filter(|((other, _), _)| other == item);
        let mut clash = others.filter(|((_, theirs), _)| is_open(token.min(*theirs)));
        if let Some(((_, theirs), other)) = clash.next() {
            let saw = format!(
                "{client} has claimed {item} by token {token}, and {other} by token {theirs}; the \
                 session of the smaller one is open"
            );
            return Err(self.objection(saw).about(*other).about(*theirs));
        }
        self.believed.insert((Arc::clone(item), token), client);
        Ok(())
    }
}

impl Declared for OneClaimer {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "ack-queue LQ2 one claimer",
        LooksBack::Tip,
        minds! { |this, view, event|
            Committed(txn) => {
                let gone = this.claims.see(view, txn).into_iter();
                this.gone.extend(gone.map(|gone| (gone.item, txn.zxid)));
            },
            #[needed]
            Observed(client, AckSeen::Claimed { queue, node, token, .. })
                if *queue == this.queue =>
            {
                this.claimed(view, client, &path::name(node).into(), *token)
            },
            Observed(_, AckSeen::Finishing { queue, node, token } | AckSeen::Lost { queue, node, token })
                if *queue == this.queue =>
            {
                this.believed.remove(&(path::name(node).into(), *token));
            },
            Event::Killed { client } | Event::Finished { client, .. } | Event::Panicked { client, .. } => {
                this.believed.retain(|_, believer| believer != client);
            },
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contention::properties::scene::{S1, S2, Scene, path};
    use vivarium_model::id::{SessionId, Xid};
    use vivarium_model::observation::Observed;
    use vivarium_model::tree::EphemeralType;
    use vivarium_model::txn::TxnBody;

    const ITEM: &str = "a-q-0000000000";

    fn scene() -> Scene<OneClaimer> {
        let mut scene = Scene::new(OneClaimer::new("/lock"));
        for node in ["/lock.claims", "/lock/a-q-0000000000"] {
            let create = TxnBody::create(path(node), [], EphemeralType::Void, 1);
            scene.commit(S1, 2, create);
        }
        scene
    }

    /// Commits a claim of the item, and lets the client believe it.
    fn claim(scene: &mut Scene<OneClaimer>, client: u8, session: SessionId) -> Zxid {
        let claim = path(&format!("/lock.claims/{ITEM}"));
        let body = TxnBody::create(claim, [], EphemeralType::Normal(session), 1);
        let token = scene.commit(session, 3, body);
        believe(scene, client, session, token);
        token
    }

    fn believe(scene: &mut Scene<OneClaimer>, client: u8, session: SessionId, token: Zxid) {
        let node = format!("/lock/{ITEM}").into();
        let (queue, item) = ("/lock".into(), "a".into());
        let observation = Observed::new(AckSeen::Claimed { queue, item, node, token });
        let (client, session) = (ClientId(client.into()), Some(session));
        scene.event(Event::Observed { client, session, next_xid: Xid(9), observation });
    }

    fn release(scene: &mut Scene<OneClaimer>, session: SessionId) {
        let path = path(&format!("/lock.claims/{ITEM}"));
        scene.commit(session, 4, TxnBody::Delete { path });
    }

    #[test]
    fn two_claimers_with_both_sessions_open_are_refused() {
        let mut scene = scene();
        claim(&mut scene, 1, S1);
        release(&mut scene, S1);
        claim(&mut scene, 2, S2);
        insta::assert_snapshot!(scene.end().unwrap_or_default(), @"ack-queue LQ2 one claimer: client 2 has claimed a-q-0000000000 by token 1:8, and client 1 by token 1:6; the session of the smaller one is open");
    }

    #[test]
    fn a_claim_of_what_is_done_is_refused() {
        let mut scene = scene();
        let item = TxnBody::Delete { path: path(&format!("/lock/{ITEM}")) };
        scene.commit(S1, 3, item);
        claim(&mut scene, 2, S2);
        assert!(scene.end().is_some_and(|saw| saw.contains("the item was deleted at")));
    }

    #[test]
    fn a_claimer_whose_session_is_closed_may_go_on_believing() {
        let mut scene = scene();
        claim(&mut scene, 1, S1);
        scene.close(S1);
        claim(&mut scene, 2, S2);
        assert_eq!(scene.end(), None);
    }
}
