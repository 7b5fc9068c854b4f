//! The README's example, run: there it is only compiled.
#![cfg(feature = "explore")]

use vivarium::prelude::*;

async fn lead_once(zk: ZooKeeper) -> Result<(), String> {
    zk.connect().await;
    if let Ok((_, stat)) = zk.create("/leader", b"", CreateMode::Ephemeral).await {
        zk.custom("leads", &[("token", stat.czxid.into())]);
        let _ = zk.set_data("/leader", b"here", Version::Any).await;
        zk.custom("resigned", &[]);
        let _ = zk.delete("/leader", Version::Any).await;
    }
    Ok(())
}

#[test]
fn there_is_one_leader_whichever_session_expires() {
    let fold = |terms: &mut i64, _: &Said<'_>| {
        *terms += 1;
        *terms <= 2
    };
    vivarium::Test::new("leader", lead_once)
        .monitor(never_two_at_once("leads", "resigned").token("token"))
        .monitor(always("at most two terms", 0, fold).on("leads"))
        .monitor(eventually("leads"))
        .monitor(no_ghosts_under("/leader"))
        .explore(&Exploration::new().clients(2).expiries(1));
}
