//! Case files that are written while a run goes on: the case without its steps in the first line, and in each further line
//! what has happened since, with the run's hash after it. A process that is killed leaves a file that is complete up to its
//! last whole line.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use vivarium_model::case::Case;
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::outside::Outside;
use vivarium_model::property::Objection;
use vivarium_model::step::Step;
use vivarium_model::time::Time;

/// What has happened since the line before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// The inputs from outside.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outside: Vec<Outside>,
    /// The steps with their times.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<(Time, Step)>,
    /// The run's hash after the last step.
    pub hash: Fingerprint,
    /// The objection to the last step, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub violation: Option<Objection>,
}

impl Line {
    /// Returns the text of the line, with its end.
    pub fn to_text(&self) -> String {
        whole(serde_json::to_value(self))
    }
}

/// Returns the text of one line of a file.
pub(crate) fn whole(value: serde_json::Result<Value>) -> String {
    let value = value.expect("a case has only text keys and finite numbers");
    format!("{value}\n")
}

/// The lines of a file: the first as text and document, and the others.
pub(crate) type Lines<'a> = (&'a str, Value, Result<Vec<Line>, String>);

/// Reads the lines of a case that was written line by line; `None` if the text is no such file. A last line that is not
/// whole is left out.
pub(crate) fn lines(text: &str) -> Option<Lines<'_>> {
    let (first, rest) = text.split_once('\n')?;
    let document: Value = serde_json::from_str(first).ok().filter(Value::is_object)?;
    let whole = (2..).zip(rest.split_inclusive('\n').map_while(|line| line.strip_suffix('\n')));
    let read = |(number, line): (u32, &str)| {
        serde_json::from_str(line).map_err(|error| format!("line {number}: {error}"))
    };
    Some((first, document, whole.map(read).collect()))
}

impl Line {
    /// Adds what has happened to a case.
    pub(crate) fn add_to(self, case: &mut Case) {
        case.outside.extend(self.outside);
        case.steps.extend(self.steps);
        (case.hash, case.violation) = (self.hash, self.violation);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case_file::{FORMAT, first_line, from_text};
    use std::collections::BTreeMap;
    use std::path::Path;
    use vivarium_model::case::GrainKind;
    use vivarium_model::config::Config;
    use vivarium_model::id::{ClientId, ServerId};

    fn case() -> Case {
        Case {
            version: Case::VERSION,
            scenario: "outside".to_owned(),
            grain: GrainKind::Ensemble,
            parameters: BTreeMap::new(),
            seed: None,
            bugs: Vec::new(),
            config: Config { outside: true, ..Config::new(3, 0) },
            outside: Vec::new(),
            steps: Vec::new(),
            hash: Fingerprint::default(),
            violation: None,
        }
    }

    fn lines() -> [Line; 2] {
        let opens = Outside::Opens { client: ClientId(1), server: ServerId(2) };
        let restart = (Time(3), Step::Restart(ServerId(1)));
        let first = Line { steps: vec![restart], hash: Fingerprint(7), ..Line::default() };
        let steps = vec![(Time(4), Step::Outside(0))];
        [first, Line { outside: vec![opens], steps, hash: Fingerprint(8), violation: None }]
    }

    fn read(text: &str) -> Result<Case, String> {
        from_text(Path::new("a.json"), text).map_err(|error| error.to_string())
    }

    #[test]
    fn a_file_is_complete_up_to_its_last_whole_line() {
        let [one, two] = lines();
        let text = [first_line(&case()), one.to_text(), two.to_text()].concat();
        let whole = read(&text).expect("it is whole");
        assert_eq!((whole.steps.len(), whole.outside.len(), whole.hash.0), (2, 1, 8));
        let before = text.len() - two.to_text().len();
        for end in before..text.len() {
            let cut = read(&text[..end]).expect("its last line is not whole");
            assert_eq!((cut.steps.len(), cut.outside.len(), cut.hash.0), (1, 0, 7), "{end}");
        }
        assert_eq!(read(&first_line(&case())), Ok(case()));
    }

    #[test]
    fn a_line_that_is_no_record_is_refused_with_its_number() {
        let [one, two] = lines();
        let text = [first_line(&case()), one.to_text(), "{}\n".to_owned(), two.to_text()].concat();
        let refused = read(&text).expect_err("line 3 says nothing");
        assert!(refused.contains("damaged: line 3: missing field `hash`"), "{refused}");
        let missing =
            [first_line(&case()), two.to_text().replace("\"Opens\"", "\"Open\"")].concat();
        assert!(read(&missing).is_err());
        let foreign = first_line(&case()).replace(FORMAT, "another");
        assert!(read(&(foreign + &one.to_text())).is_err_and(|why| why.contains("another")));
    }
}
