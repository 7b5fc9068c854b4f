//! A property of one's own that no few lines over what programs say can express: a monitor of ZooKeeper's own
//! events, which keeps an account, measures, and is told how the run is configured.

use std::collections::BTreeMap;
use std::sync::Arc;
use vivarium::prelude::*;

vivarium::named! {
    /// How a counter is raised.
    pub enum Raises ("way to raise a counter") {
        /// Only if nobody else has meanwhile.
        Carefully,
        /// Whatever it is by now: the mistake.
        Blindly,
    }
}

const COUNTER: &str = "/counter";

/// A counter never goes back: what is committed is always more than what was there.
#[derive(Clone, Default, Hash)]
struct NeverBack {
    value: i64,
    /// Which servers there are.
    servers: Vec<ServerId>,
    writes: Unhashed<BTreeMap<ServerId, u64>>,
}

impl Declared for NeverBack {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "the counter never goes back",
        LooksBack::Tip,
        minds! { |this, view, event|
            Event::Committed { txn, leader } if view.history.is_new(txn) => this.committed(txn, *leader),
        },
    )
    .begin(Self::begin)
    .end(Self::end)
    .measured(Self::measured);
}

impl NeverBack {
    fn begin(&mut self, config: &Arc<Config>) {
        self.servers = config.server_ids().collect();
    }

    fn committed(&mut self, txn: &Txn, leader: ServerId) -> Result<(), Objection> {
        let TxnBody::SetData { path, data, .. } = &txn.body else { return Ok(()) };
        if path.to_string() != COUNTER {
            return Ok(());
        }
        let before = std::mem::replace(&mut self.value, number(data));
        *self.writes.0.entry(leader).or_default() += 1;
        match before < self.value {
            true => Ok(()),
            false => {
                let saw = format!("it was {before}, and {} wrote {}", txn.session, self.value);
                Err(self.objection(saw))
            }
        }
    }

    fn end(&mut self, view: View<'_>) -> Result<(), Objection> {
        let znode = view.history.tree().node(COUNTER);
        assert_eq!(znode.map(|znode| number(&znode.data)), Some(self.value), "nothing was missed");
        Ok(())
    }

    fn measured(&self) -> Vec<Measure> {
        vec![Measure::count("writes", self.writes.0.values().sum())]
    }
}

fn number(data: &[u8]) -> i64 {
    std::str::from_utf8(data).ok().and_then(|text| text.parse().ok()).unwrap_or_default()
}

async fn raise(zk: ZooKeeper, raises: Raises) -> Result<(), String> {
    let raised = in_sessions(&zk, |zk, _session| async move {
        let (data, stat) = until_known(&zk, || zk.get_data(COUNTER)).await?;
        let more = (number(&data) + 1).to_string();
        let version = match raises {
            Raises::Carefully => Version::Is(stat.version),
            Raises::Blindly => Version::Any,
        };
        match zk.set_data(COUNTER, more.as_bytes(), version).await {
            Ok(_) | Err(Error::BadVersion | Error::ConnectionLoss) => Ok(()),
            Err(error) => Err(error),
        }
    });
    raised.await.map_err(|error| error.to_string())
}

fn counter(raises: Raises) -> Test {
    Test::new(raises.name(), move |zk| raise(zk, raises))
        .setup(COUNTER)
        .monitor(NeverBack::default())
}

#[test]
fn careful_counters_never_go_back() {
    let seeds = SeedRange::parse("100").expect("a number");
    let report: Result<ScenarioReport, TestFailure> =
        counter(Raises::Carefully).faults(Faults::ALL).run_seeds(&seeds);
    assert_eq!(report.expect("it holds").seeds, 100);
    let report: ExplorationReport =
        counter(Raises::Carefully).explore(&Exploration::new().clients(2).lost(1));
    assert!(matches!(report.verdict, Verdict::Exhausted { .. }));
}

#[test]
fn blind_ones_do() {
    let report = counter(Raises::Blindly).explored(&Exploration::new().clients(2));
    let Verdict::Violated(violation) = report.expect("it can be explored").verdict else {
        panic!("nobody objected")
    };
    let Violation { objection, .. } = *violation;
    assert_eq!(objection.property, "the counter never goes back");
    assert!(objection.saw.starts_with("it was 1, and "), "{objection}");
}

#[test]
fn why_there_is_no_search_can_be_told_apart() {
    let many = Exploration::new().clients(200);
    let failure = counter(Raises::Carefully).explored(&many).expect_err("too many");
    let TestFailure::NotExplored { error: ExploreError::OutOfBounds(bound), .. } = failure else {
        panic!("{failure}")
    };
    assert!(bound.to_string().starts_with("`clients(200)` is too many"), "{bound}");
}
