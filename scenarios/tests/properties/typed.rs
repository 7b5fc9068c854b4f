//! Observations of a type are judged like those with the same name and fields and no type.

use proptest::collection::vec;
use proptest::prelude::*;
use std::sync::Arc;
use vivarium::prelude::*;
use vivarium_model::config::Config;
use vivarium_model::history::History;
use vivarium_model::id::Xid;
use vivarium_model::observation::Observed;

const CLIENTS: u8 = 3;

/// A client's observation, by its type.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
enum Says {
    TakesOver { shelf: u8, token: Zxid },
    Resigns { shelf: u8, token: Zxid, why: Option<String> },
}

impl Observation for Says {}

impl Says {
    /// Returns the same observation by name and fields.
    fn untyped(&self) -> Custom {
        let number = |shelf: &u8| ("shelf", i64::from(*shelf).into());
        match self {
            Says::TakesOver { shelf, token } => {
                Custom::new("takes over", &[number(shelf), ("token", (*token).into())])
            }
            Says::Resigns { shelf, token, why } => {
                let why = why.as_deref().map_or(Value::Nothing, Into::into);
                Custom::new("resigns", &[number(shelf), ("token", (*token).into()), ("why", why)])
            }
        }
    }
}

fn says() -> impl Strategy<Value = (ClientId, Says)> {
    let takes =
        (0u8..2, 0u64..6).prop_map(|(shelf, token)| Says::TakesOver { shelf, token: Zxid(token) });
    let resigns = (0u8..2, 0u64..6, any::<bool>()).prop_map(|(shelf, token, tired)| {
        Says::Resigns { shelf, token: Zxid(token), why: tired.then(|| "tired".into()) }
    });
    ((1..=u16::from(CLIENTS)).prop_map(ClientId), prop_oneof![takes, resigns])
}

/// Returns all answers of a monitor, with the names of the observations.
fn answers(
    monitor: &dyn Monitor,
    said: &[(ClientId, Says)],
    make: impl Fn(&Says) -> Observed,
) -> Vec<(bool, bool, Result<(), Objection>)> {
    let mut monitor = monitor.clone_box();
    monitor.begin(&Arc::new(Config::new(1, CLIENTS)));
    let history = History::new();
    let view = || View::new(Time::ZERO, &history).within(LooksBack::Tip);
    let mut answers = Vec::new();
    for (client, says) in said {
        let session = Some(SessionId(client.0.into()));
        let (next_xid, observation) = (Xid(1), make(says));
        let event = Event::Observed { client: *client, session, next_xid, observation };
        let (concerns, minds) = (monitor.concerns(&event), monitor.minds_order(&event));
        answers.push((concerns, minds, monitor.event(view(), &event)));
    }
    answers.push((false, false, monitor.end(view())));
    answers
}

fn all_of_them() -> Vec<Box<dyn Monitor>> {
    let few = |many: &mut u32, said: &Said<'_>| {
        *many += u32::from(said.zxid("token")?.0 > 2);
        Ok(*many < 3)
    };
    let tired =
        |_: &mut u32, said: &Said<'_>| Ok(said.number("shelf")? == 1 || said.text("why").is_err());
    vec![
        Box::new(never_two_at_once("takes over", "resigns").per("shelf").token("token").strictly()),
        Box::new(never_two_at_once("takes over", "resigns")),
        Box::new(at_most_once("takes over", "token").per_client()),
        Box::new(grows("takes over", "token").per("shelf")),
        Box::new(agree("takes over", "shelf").per("token")),
        Box::new(agree("resigns", "why").with("shelf", 1)),
        Box::new(same_order("takes over", "resigns", "token")),
        Box::new(always("few", 0, few)),
        Box::new(always("tired", 0, tired).on("resigns")),
        Box::new(eventually("resigns").by_every_client()),
        Box::new(eventually("nothing of the kind")),
    ]
}

proptest! {
    #[test]
    fn a_property_judges_both_alike(said in vec(says(), 1..12)) {
        for monitor in all_of_them() {
            let typed = answers(&*monitor, &said, |says| Observed::new(says.clone()));
            let untyped = answers(&*monitor, &said, |says| Observed::new(says.untyped()));
            prop_assert_eq!(typed, untyped, "{}", monitor.name());
        }
    }
}

/// The comparison is not vacuous: each property is violated here.
#[test]
fn each_property_objects_to_some_of_these() {
    let says =
        |client, shelf, token| (ClientId(client), Says::TakesOver { shelf, token: Zxid(token) });
    let resigns = |client, token, why: Option<&str>| {
        let why = why.map(str::to_string);
        (ClientId(client), Says::Resigns { shelf: 1, token: Zxid(token), why })
    };
    let zero = (ClientId(1), Says::Resigns { shelf: 0, token: Zxid(9), why: Some("tired".into()) });
    let said = [
        says(1, 1, 5),
        says(2, 1, 3),
        says(2, 0, 3),
        says(1, 1, 4),
        resigns(1, 3, None),
        resigns(2, 5, Some("tired")),
        zero,
    ];
    for monitor in all_of_them() {
        let answers = answers(&*monitor, &said, |says| Observed::new(says.clone()));
        let name = monitor.name();
        assert!(answers.iter().any(|(.., answer)| answer.is_err()), "{name} objects to nothing");
    }
}
