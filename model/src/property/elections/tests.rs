use super::*;
use crate::vocabulary::zxid::{Epoch, Zxid};

const ONE: ServerId = ServerId(1);
const TWO: ServerId = ServerId(2);
const THREE: ServerId = ServerId(3);
const ROUND: u32 = 4;

/// Returns a vote for a server whose last zxid is this transaction of epoch 1.
fn vote(leader: ServerId, counter: u32) -> Vote {
    Vote { peer_epoch: Epoch(1), zxid: Zxid::new(Epoch(1), counter), leader }
}

fn said(state: PeerState, vote: Vote, round: u32) -> Notification {
    Notification { vote, round, state, configuration: crate::vocabulary::quorum::Attached(None) }
}

fn three() -> Configurations {
    let quorum = QuorumVerifier::majority(3);
    Configurations::of(quorum)
}

/// Returns the verdict on a decision of server 1 for `leader`. Server 1 has the vote `own` for itself, proposes
/// `proposal`, and has read `read`.
fn decides(
    own: Vote,
    proposal: Vote,
    read: &[(ServerId, Notification)],
    leader: ServerId,
) -> String {
    decides_by(three(), own, proposal, read, leader)
}

/// Like `decides`, of a server with these configurations.
fn decides_by(
    configurations: Configurations,
    own: Vote,
    proposal: Vote,
    read: &[(ServerId, Notification)],
    leader: ServerId,
) -> String {
    let config = Config::new(3, 0);
    let mut elections = Elections::new(&config);
    elections.read[ONE.index()] = read.to_vec();
    let (round, waits, reads) = (ROUND, false, None);
    elections.stands =
        Some(Candidate { server: ONE, own, proposal, round, waits, reads, configurations });
    let elected = Event::Elected { server: ONE, leader, round: ROUND };
    match elections.after(&[elected], &config) {
        Ok(()) => "it has the votes".to_string(),
        Err(objection) => {
            assert_eq!(objection.property, "S17 who is elected has the votes");
            let (_, why) = objection.saw.split_once(": ").expect("it says why");
            why.to_string()
        }
    }
}

use PeerState::{Following, Leading, Looking};

#[test]
fn a_quorum_of_the_round_with_the_largest_vote() {
    let best = vote(TWO, 5);
    let agrees = [(TWO, said(Looking, best, ROUND))];
    assert_eq!(decides(vote(ONE, 5), best, &agrees, TWO), "it has the votes");
    assert_eq!(decides(best, best, &[], TWO), "it has read no quorum of votes for this leader.");
    let earlier = [(TWO, said(Looking, best, ROUND - 1))];
    assert_eq!(
        decides(vote(ONE, 5), best, &earlier, TWO),
        "it has read no quorum of votes for this leader."
    );
    // Two notifications of one server count once.
    let twice = [(ONE, said(Looking, best, ROUND)), (ONE, said(Following, best, ROUND))];
    assert_eq!(
        decides(vote(ONE, 5), best, &twice, TWO),
        "it has read no quorum of votes for this leader."
    );
}

/// Votes are compared by epoch, then zxid, then id.
#[test]
fn a_vote_that_is_not_the_largest() {
    let small = vote(TWO, 5);
    let read = [(TWO, said(Looking, small, ROUND))];
    let larger_id = decides(vote(THREE, 5), small, &read, TWO);
    assert!(
        larger_id.starts_with("its own vote for server 3 (")
            && larger_id.contains(" is larger than the ")
    );
    let larger_zxid = decides(vote(ONE, 6), small, &read, TWO);
    assert!(larger_zxid.starts_with("its own vote for server 1 ("), "{larger_zxid}");
    let older_epoch = Vote { peer_epoch: Epoch(0), ..vote(THREE, 9) };
    assert_eq!(decides(older_epoch, small, &read, TWO), "it has the votes");

    let with = |said| [read[0], (THREE, said)];
    let better = decides(vote(ONE, 1), small, &with(said(Looking, vote(THREE, 6), ROUND)), TWO);
    assert!(better.starts_with("server 3 had sent vote for server 3 ("), "{better}");
    // A notification of another round, or of a server that is not looking, does not count.
    for other in [said(Looking, vote(THREE, 6), ROUND - 1), said(Leading, vote(THREE, 6), ROUND)] {
        assert_eq!(decides(vote(ONE, 1), small, &with(other), TWO), "it has the votes");
    }
}

#[test]
fn a_leader_that_others_follow_already() {
    let led = vote(TWO, 9);
    let own = vote(ONE, 20);
    let follows = (THREE, said(Following, led, ROUND));
    let leads = (TWO, said(Leading, led, ROUND));
    assert_eq!(decides(own, own, &[follows, leads], TWO), "it has the votes");
    let silent = decides(own, own, &[follows, (TWO, said(Looking, led, ROUND))], TWO);
    assert_eq!(silent, "it has read no LEADING notification from server 2.");
    assert_eq!(decides(own, own, &[leads], TWO), "it has read no quorum of votes for this leader.");
    // The zxid and the round may differ, but not the epoch (ZOOKEEPER-1732).
    let other_zxid = (THREE, said(Following, vote(TWO, 3), ROUND - 1));
    assert_eq!(decides(own, own, &[other_zxid, leads], TWO), "it has the votes");
    let later = Vote { peer_epoch: Epoch(2), ..led };
    let other_epoch = (THREE, said(Following, later, ROUND));
    assert_eq!(
        decides(own, own, &[other_epoch, leads], TWO),
        "it has read no quorum of votes for this leader."
    );
    let of_itself = [TWO, THREE].map(|from| (from, said(Following, own, ROUND)));
    assert_eq!(decides(own, own, &of_itself, ONE), "it has the votes");
}

#[test]
fn what_was_read_before_it_looked_does_not_count() {
    let config = Config::new(3, 0);
    let best = vote(TWO, 5);
    let reads = |reads| Candidate {
        server: ONE,
        own: best,
        proposal: best,
        round: ROUND,
        waits: false,
        reads,
        configurations: three(),
    };
    let mut elections = Elections::new(&config);
    elections.stands = Some(reads(Some((TWO, said(Looking, best, ROUND)))));
    assert_eq!(elections.after(&[], &config), Ok(()));
    let elected = [Event::Elected { server: ONE, leader: TWO, round: ROUND }];
    elections.stands = Some(reads(None));
    assert_eq!(elections.clone().after(&elected, &config), Ok(()));
    let left = [Event::LeftRole { server: ONE, reason: "it is tired" }];
    for begins_anew in [left, [Event::Restarted { server: ONE }]] {
        let mut elections = elections.clone();
        elections.after(&begins_anew, &config).expect("nothing is decided");
        elections.after(&elected, &config).expect_err("nobody has said anything since");
    }
    // The server could not decide in this step.
    elections.stands = None;
    elections.after(&elected, &config).expect_err("it has read nothing");
}

/// A server that has a quorum and waits drops every vote that is not better, even one of a later round (rule 5.3.3).
/// It accepts a better vote, and without a quorum it drops nothing.
#[test]
fn what_is_dropped_while_it_waits_for_a_better_vote() {
    let config = Config::new(3, 0);
    let (best, other) = (vote(TWO, 9), vote(THREE, 5));
    let stands = |proposal, round, waits, reads| {
        Some(Candidate {
            server: ONE,
            own: vote(ONE, 1),
            proposal,
            round,
            waits,
            reads,
            configurations: three(),
        })
    };
    let agrees = (TWO, said(Looking, best, ROUND));
    let next = |vote, round| Some((THREE, said(Looking, vote, round)));
    let mut elections = Elections::new(&config);
    elections.read[ONE.index()] = vec![agrees];
    // Server 1 decides for a smaller vote in the next round, after it has read `vote` of that round while it waited
    // in this one.
    let decides_after = |vote| {
        let mut elections = elections.clone();
        elections.stands = stands(best, ROUND, true, next(vote, ROUND + 1));
        elections.after(&[], &config)?;
        let small = super::tests::vote(TWO, 3);
        elections.read[ONE.index()].push((TWO, said(Looking, small, ROUND + 1)));
        elections.stands = stands(small, ROUND + 1, true, None);
        let elected = Event::Elected { server: ONE, leader: TWO, round: ROUND + 1 };
        elections.after(&[elected], &config)
    };
    assert_eq!(decides_after(other), Ok(()));
    let saw = decides_after(vote(THREE, 10)).expect_err("that one is better").saw;
    assert!(saw.contains("server 3 had sent vote for server 3 ("), "{saw}");
    elections.read[ONE.index()].clear();
    elections.stands = stands(best, ROUND, true, next(other, ROUND));
    let saw = elections.after(&[], &config).expect_err("it has no quorum").saw;
    assert!(saw.starts_with("server 1 drops the notification of server 3"), "{saw}");
}

/// While a reconfiguration to servers 2, 3 and 4 is proposed, a leader needs quorums of both; to follow an established one, the
/// quorum of the committed configuration is enough.
#[test]
fn an_election_needs_both_configurations() {
    let voters = [TWO, THREE, ServerId(4)].into_iter().collect();
    let last_seen = QuorumVerifier::new(Zxid::new(Epoch(1), 3), voters, ServerSet::default());
    let both = Configurations { last_seen, ..three() };
    let (own, best) = (vote(ONE, 5), vote(TWO, 5));
    let of = |state, from: &[ServerId]| -> Vec<(ServerId, Notification)> {
        from.iter().map(|from| (*from, said(state, best, ROUND))).collect()
    };
    let no_quorum = "it has read no quorum of votes for this leader.";
    let decides = |read: &[(ServerId, Notification)]| decides_by(both, own, best, read, TWO);
    assert_eq!(decides(&of(Looking, &[TWO])), no_quorum);
    assert_eq!(decides(&of(Looking, &[TWO, THREE])), "it has the votes");
    assert_eq!(decides(&of(Looking, &[TWO, ServerId(4)])), "it has the votes");
    let mut settled = of(Following, &[ONE]);
    settled.push((TWO, said(Leading, best, ROUND)));
    let other = vote(ONE, 1);
    assert_eq!(decides_by(both, other, other, &settled, TWO), "it has the votes");
}

/// A server that does not vote can bring a configuration with other members. What was read before counts no more, in
/// either direction.
#[test]
fn another_configuration_begins_the_election_anew() {
    let config = Config::new(3, 0);
    let (own, larger) = (vote(ONE, 5), vote(THREE, 6));
    let stood = Candidate {
        server: ONE,
        own,
        proposal: own,
        round: ROUND,
        waits: false,
        reads: None,
        configurations: three(),
    };
    let decision = |next: QuorumVerifier| {
        let mut elections = Elections::new(&config);
        let better = (THREE, said(Looking, larger, ROUND));
        elections.read[ONE.index()] = vec![(TWO, said(Looking, own, ROUND)), better];
        elections.reader = Some(stood);
        let activated = Event::Activated { server: ONE, configuration: next };
        elections.after(&[activated], &config).expect("no election ends");
        let agrees = (TWO, said(Looking, own, ROUND));
        elections.read[ONE.index()].push(agrees);
        elections.stands = Some(stood);
        elections.after(&[Event::Elected { server: ONE, leader: ONE, round: ROUND }], &config)
    };
    let voters = ServerSet::from_iter([ONE, TWO]);
    let others = QuorumVerifier::new(Zxid(7), voters, ServerSet::default());
    assert!(decision(others).is_ok(), "the larger vote was read under other members");
    let same = QuorumVerifier::majority(3).with_version(Zxid(7));
    let objection =
        decision(same).expect_err("the members are the same, and a larger vote is known");
    assert_eq!(objection.property, NAME);
}

/// The configuration of servers 1 to 3, in which server 3 has no weight (rule 5.8.11).
fn weighted() -> Configurations {
    let groups = "group.1=1:2:3,weight.3=0".parse().expect("it is well formed");
    Configurations::of(QuorumVerifier::majority(3).with_hierarchy(Some(groups)))
}

#[test]
fn a_vote_for_a_server_without_weight_counts_for_nothing() {
    let (own, other, weightless) = (vote(ONE, 5), vote(TWO, 5), vote(THREE, 9));
    let of = |from, vote| (from, said(Looking, vote, ROUND));
    let larger = [of(TWO, other), of(THREE, weightless)];
    assert_eq!(decides_by(weighted(), own, other, &larger, TWO), "it has the votes");
    assert_ne!(decides_by(three(), own, other, &larger, TWO), "it has the votes");
    let all_for = [of(TWO, weightless), of(THREE, weightless)];
    let why = "a vote for that server has no weight.";
    assert_eq!(decides_by(weighted(), own, weightless, &all_for, THREE), why);
    assert_eq!(decides_by(three(), own, weightless, &all_for, THREE), "it has the votes");
    // Servers 1 and 3 have half of the weight.
    let half = [of(THREE, own)];
    let why = decides_by(weighted(), own, own, &half, ONE);
    assert_eq!(why, "it has read no quorum of votes for this leader.");
    assert_eq!(decides_by(three(), own, own, &half, ONE), "it has the votes");
}

/// The vote of a server for itself is smaller than any other where it has no vote or no weight; all other votes are compared.
#[test]
fn a_server_without_a_vote_takes_the_largest() {
    let voters = [TWO, THREE, ServerId(4)].into_iter().collect();
    let others = QuorumVerifier::new(Zxid(7), voters, ServerSet::default());
    let (best, larger) = (vote(TWO, 5), vote(THREE, 6));
    let of = |from, vote| (from, said(Looking, vote, ROUND));
    let decides = |read: &[(ServerId, Notification)]| {
        let config = Config::new(4, 0);
        let mut elections = Elections::new(&config);
        elections.read[ONE.index()] = read.to_vec();
        for (from, said) in read {
            elections.cast[from.index()].insert((said.round, said.vote));
        }
        elections.stands = Some(Candidate {
            server: ONE,
            own: Vote::OF_OBSERVER,
            proposal: best,
            round: ROUND,
            waits: true,
            reads: None,
            configurations: Configurations::of(others),
        });
        let elected = Event::Elected { server: ONE, leader: TWO, round: ROUND };
        elections.after(&[elected], &config).map_err(|objection| objection.saw.to_string())
    };
    let quorum = [of(TWO, best), of(ServerId(4), best)];
    assert_eq!(decides(&quorum), Ok(()));
    let saw = decides(&[&quorum[..], &[of(THREE, larger)]].concat()).expect_err("one is larger");
    assert!(saw.contains("server 3 had sent vote for server 3 ("), "{saw}");
    let saw = decides(&quorum[..1]).expect_err("one of three");
    assert!(saw.contains("it has read no quorum of votes"), "{saw}");
}
