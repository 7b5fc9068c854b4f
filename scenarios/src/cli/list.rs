//! `vivarium list`: what there is to run.

use crate::catalogue::{Entry, Switches};
use vivarium_model::release::Bug;
use vivarium_reports::table::WIDTH;

/// All scenarios with their faults, marks and mutants, then the defects of the servers.
pub(super) fn listing(entries: &[Entry]) -> String {
    let mut text = String::new();
    for entry in entries {
        let scenario = (entry.build)(&Switches::default());
        let marks: Vec<&str> = scenario.marks.iter().map(|mark| mark.name()).collect();
        let faults: Vec<&str> = scenario.faults.iter().map(|fault| fault.name()).collect();
        text.push_str(&paragraph(&format!("{}: ", entry.name), entry.summary));
        if entry.is_swept() {
            text.push_str(&paragraph("  faults: ", &faults.join("; ")));
            text.push_str(&paragraph("  marks: ", &marks.join("; ")));
        } else {
            text.push_str("  servers without programs: explored, not swept\n");
        }
        for mutant in &entry.mutants {
            text.push_str(&switch(mutant.name, mutant.summary));
        }
        text.push('\n');
    }
    text.push_str("Defects of the servers, for every scenario:\n");
    for bug in Bug::of_releases() {
        text.push_str(&switch(bug.name(), bug.summary()));
    }
    text
}

fn switch(name: &str, summary: &str) -> String {
    paragraph(&format!("  --bug {name:<26}"), summary)
}

/// A text behind its head, broken into lines that are indented as far as the head is wide.
fn paragraph(head: &str, text: &str) -> String {
    let indent = " ".repeat(head.chars().count());
    let room = usize::from(WIDTH) - indent.len();
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is always a last line");
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= room {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_string());
        }
    }
    format!("{head}{}\n", lines.join(&format!("\n{indent}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::catalogue;

    #[test]
    fn a_paragraph_keeps_to_its_width_and_loses_no_word() {
        let text = "word ".repeat(60);
        let set = paragraph("  head: ", &text);
        assert!(set.lines().all(|line| line.chars().count() <= usize::from(WIDTH)), "{set}");
        assert_eq!(set.matches("word").count(), 60);
        assert_eq!(paragraph("head: ", ""), "head: \n");
    }

    #[test]
    fn the_listing_names_every_switch_of_every_scenario() {
        let text = listing(&catalogue());
        for entry in catalogue() {
            assert!(text.contains(&format!("{}: {}", entry.name, entry.summary)), "{text}");
            for name in entry.switch_names() {
                assert!(text.contains(&format!("--bug {name}")), "{name} is missing in\n{text}");
            }
        }
    }
}
