//! What programs outside believe is judged by properties of the command line, recorded and replayed.

use super::by_http::request;
use super::*;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use vivarium::properties::{Stated, stated_properties};
use vivarium_client::CreateMode;
use vivarium_reports::case_file::load;
use vivarium_sim::replica::{replay, replay_judged};

async fn judged(record: &Path, property: &str) -> Ensemble {
    let properties = vec![property.parse().expect("it is a property")];
    let record = Some(record.to_owned());
    ensemble(ServeOptions { http: Some(0), properties, record, ..ServeOptions::default() }).await
}

/// Reports an observation; returns the violation.
async fn observe(ensemble: &Ensemble, observation: Value) -> Option<String> {
    let (status, body) = request(ensemble, "POST", "/observe", &observation.to_string()).await;
    assert_eq!(status, 200, "{body}");
    let answer: Value = serde_json::from_str(&body).unwrap();
    answer["violation"].as_str().map(str::to_owned)
}

fn granted(observer: &str, session: &str, token: i64) -> Value {
    let fields = json!({ "lock": "/lock", "token": token });
    json!({ "observer": observer, "session": session, "says": "granted", "fields": fields })
}

const LOCK: &str = "never-two-at-once granted released per lock token token";

/// Two programs hold a lock at once while both sessions are open: told at once, with names and sessions; the record replays
/// to the same violation, and to none if nothing judges it.
#[tokio::test]
async fn two_holders_are_a_violation_and_its_record_replays() {
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("two.json");
    let ensemble = judged(&record, LOCK).await;
    let (one, two) = (connect(&ensemble).await, connect(&ensemble).await);
    let session = |client: &Client| client.session().expect("it is connected").to_string();
    let released = json!({ "observer": "one", "says": "released", "fields": { "lock": "/lock" } });
    assert_eq!(observe(&ensemble, granted("one", &session(&one), 7)).await, None);
    assert_eq!(observe(&ensemble, released).await, None);
    assert_eq!(observe(&ensemble, granted("two", &session(&two), 8)).await, None);
    let saw = observe(&ensemble, granted("one", &session(&one), 9)).await.expect("two hold it");
    assert!(
        saw.contains("never two at once") && saw.contains("no session of theirs is over"),
        "{saw}"
    );
    soon(one.create("/after", b"", CreateMode::Persistent)).await.expect("the ensemble goes on");
    assert_eq!(soon(ensemble.stop()).await.violation.map(|it| it.to_string()), Some(saw));
    let case = load(&record).unwrap();
    let properties = stated_properties(&case.parameters).unwrap();
    assert_eq!(properties, [LOCK.parse::<Stated>().unwrap()]);
    let replayed = replay_judged(&case, properties.iter().map(Stated::monitor).collect()).unwrap();
    assert!(replayed.is_run_of(&case), "the hash differs");
    assert_eq!(replayed.objection, case.violation);
    assert_eq!(replay(&case).unwrap().objection, None, "the servers have done nothing wrong");
}

/// A property whose observation no program makes has not held: the verdict names the observation.
#[tokio::test]
async fn what_no_program_observes_is_named() {
    let folder = tempfile::tempdir().unwrap();
    for (says, missing) in [("granted", vec![]), ("Granted", vec!["granted".into()])] {
        let ensemble =
            judged(&folder.path().join("run.json"), "never-two-at-once granted released").await;
        assert_eq!(observe(&ensemble, json!({ "observer": "one", "says": says })).await, None);
        let ended = soon(ensemble.stop()).await;
        let unobserved: Vec<Arc<str>> = ended.unobserved.into_iter().collect();
        assert_eq!((ended.violation, unobserved), (None, missing), "{says}");
    }
}

/// A holder whose session is over is excused if it has the smaller token, and one whose program has ended holds nothing.
#[tokio::test]
async fn a_holder_without_a_session_is_excused_and_one_that_ended_holds_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let ensemble = judged(&folder.path().join("run.json"), LOCK).await;
    let (one, two) = (connect(&ensemble).await, connect(&ensemble).await);
    let session = |client: &Client| client.session().expect("it is connected").to_string();
    let (first, second) = (session(&one), session(&two));
    assert_eq!(observe(&ensemble, granted("one", &first, 7)).await, None);
    command(&ensemble, &format!("expire {first}")).await;
    assert_eq!(observe(&ensemble, granted("two", &second, 8)).await, None, "the first is a zombie");
    assert_eq!(observe(&ensemble, json!({ "observer": "one", "ends": true })).await, None);
    assert_eq!(observe(&ensemble, json!({ "observer": "two", "ends": true })).await, None);
    assert_eq!(observe(&ensemble, granted("three", &second, 9)).await, None);
    let saw =
        observe(&ensemble, granted("four", &second, 8)).await.expect("a token that is too small");
    assert!(saw.contains("never two at once"), "{saw}");
}

#[tokio::test]
async fn what_is_no_observation_is_refused_in_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let ensemble = judged(&folder.path().join("run.json"), "at-most-once taken item").await;
    let refused = [
        ("", "this is no observation: EOF"),
        ("{}", "missing field `observer`"),
        (r#"{"observer": "a"}"#, "either `says` or `\\\"ends\\\": true`"),
        (r#"{"observer": "a", "says": "b", "ends": true}"#, "either"),
        (r#"{"observer": "a", "says": "b", "session": "none"}"#, "`none` is no id of a session"),
        (r#"{"observer": "a", "says": "b", "fields": {"x": 1.5}}"#, "1.5 is no whole number"),
        (r#"{"observer": "a", "says": "b", "fields": 7}"#, "expected a map"),
        (r#"{"observer": "a", "sais": "b"}"#, "unknown field `sais`"),
        (r#"{"observer": "", "says": "b"}"#, "an observer's name has from 1 to 200 bytes"),
    ];
    for (body, sentence) in refused {
        let (status, answer) = request(&ensemble, "POST", "/observe", body).await;
        assert!(status == 400 && answer.contains(sentence), "{body}: {status} {answer}");
    }
    assert_eq!(soon(ensemble.violation()).await, None);
    // A right name without the field that the property needs is no silence.
    let saw = observe(&ensemble, json!({ "observer": "a", "says": "taken" })).await;
    assert!(saw.is_some_and(|saw| saw.contains("without the field `item`")));
}

/// Observers are bounded.
#[tokio::test]
async fn there_are_not_more_than_a_thousand_observers() {
    let ensemble = ensemble(ServeOptions { http: Some(0), ..ServeOptions::default() }).await;
    for number in 0..1_000 {
        let says = json!({ "observer": format!("observer {number}"), "says": "here" });
        assert_eq!(observe(&ensemble, says).await, None);
    }
    let one_more = r#"{"observer": "one more", "says": "here"}"#;
    let (status, answer) = request(&ensemble, "POST", "/observe", one_more).await;
    assert!(status == 400 && answer.contains("1000 observers"), "{status} {answer}");
}
