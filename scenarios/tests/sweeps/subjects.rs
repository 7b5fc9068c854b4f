//! An objection carries what its sentence names. The sentence is read here, by other code, only to check that.

use std::collections::BTreeSet;
use vivarium_model::property::Objection;

/// Returns the zxids, sessions, clients and servers that the sentence names and the objection does not carry.
pub(crate) fn missing(objection: &Objection) -> Vec<String> {
    let carried: BTreeSet<String> = objection.about.iter().map(ToString::to_string).collect();
    let trim = |word: &str| {
        let word = word.trim_matches([',', ';', ':', '(', ')', '.', '`', '"', '[', ']']);
        word.strip_suffix("'s").unwrap_or(word).to_string()
    };
    let words: Vec<String> = objection.saw.split_whitespace().map(trim).collect();
    let machines = words.windows(2).filter(|pair| {
        matches!(pair[0].as_str(), "client" | "server") && pair[1].parse::<u8>().is_ok()
    });
    let named = words.iter().filter(|word| is_zxid(word) || is_session(word)).cloned();
    let named = named.chain(machines.map(|pair| pair.join(" ")));
    named.filter(|name| !carried.contains(name)).collect()
}

fn is_zxid(word: &str) -> bool {
    let parts = word.split_once(':');
    parts.is_some_and(|(epoch, counter)| {
        epoch.parse::<u32>().is_ok() && counter.parse::<u32>().is_ok()
    })
}

fn is_session(word: &str) -> bool {
    word.strip_prefix("0x").is_some_and(|digits| digits.len() == 15 || digits.len() == 16)
}

#[test]
fn what_a_sentence_names_and_its_objection_does_not_carry_is_found() {
    let saw = "client 2 (0x300000100000001) has token 1:17 of server 3";
    let all = ["0x300000100000001", "1:17", "client 2", "server 3"];
    assert_eq!(missing(&Objection::new("M1", saw)), all);
    let client = vivarium_model::id::ClientId(2);
    assert_eq!(missing(&Objection::new("M1", saw).about(client)), [all[0], all[1], all[3]]);
}
