//! `vivarium findings`: the defects of today's ZooKeeper that break a promise, found by the model and shown by real
//! servers.

use super::arguments::FindingsArguments;
use super::guard;
use super::output::emit;
use super::select::nearest;
use crate::conform::{self, Installation};
use crate::findings::{FINDINGS, Finding, Narration, Outcome, Variant};

/// Lists all findings, or runs one.
pub(super) fn findings(arguments: &FindingsArguments) -> Result<u8, String> {
    if let Some(release) = &arguments.get {
        return got(release);
    }
    match &arguments.name {
        None if arguments.class_path.is_some() => Err(
            "`--class-path` is for one of them: write `vivarium findings NAME --class-path PATHS`"
                .to_owned(),
        ),
        None if arguments.zookeeper.is_some() => Err(
            "`--zookeeper` is for one of them: write `vivarium findings NAME --zookeeper RELEASE`"
                .to_owned(),
        ),
        None => Ok(emit(&listing(), 0)),
        Some(name) => run(named(name)?, arguments),
    }
}

fn got(release: &str) -> Result<u8, String> {
    let folder = conform::get(release, |megabytes| {
        say(&format!("gets ZooKeeper {release}: {megabytes} MB, this can take minutes"));
    });
    let folder = folder.map_err(|error| error.to_string())?;
    say(&format!("ZooKeeper {release} is in {}", folder.display()));
    say(&format!("  use it: vivarium findings NAME --zookeeper {release}"));
    Ok(0)
}

fn named(name: &str) -> Result<&'static Finding, String> {
    Finding::named(name).ok_or_else(|| {
        let names = || FINDINGS.iter().map(|finding| finding.name);
        match nearest(name, names()) {
            Some(near) => format!("unknown finding `{name}`: did you mean `{near}`?"),
            None => {
                let all = names().collect::<Vec<_>>().join(", ");
                format!("unknown finding `{name}`: the findings are {all}")
            }
        }
    })
}

/// Lists all findings with a few lines for each.
fn listing() -> String {
    let mut text = "Defects of today's ZooKeeper that break a promise:\n\n".to_owned();
    for finding in FINDINGS {
        let tracker = tracker(finding.tracker);
        text.push_str(&format!(
            "  {:<30} {} ({tracker})\n    {}\n",
            finding.name,
            finding.switch.words(),
            finding.loses
        ));
    }
    text.push_str(
        "\n`vivarium findings NAME` has the model find one, and real servers show it and its control.\n",
    );
    text
}

fn tracker(number: Option<u32>) -> String {
    number.map_or("no issue found".to_owned(), |number| format!("ZOOKEEPER-{number}"))
}

/// Runs the model first, then real servers, then the control.
fn run(finding: &Finding, arguments: &FindingsArguments) -> Result<u8, String> {
    let installation = match (&arguments.class_path, &arguments.zookeeper) {
        (Some(class_path), _) => Installation::with_class_path(class_path),
        (None, Some(release)) => Installation::of_release(release),
        (None, None) => Installation::find(),
    };
    let installation = installation.map_err(|error| error.to_string())?;
    finding.check().map_err(|trouble| trouble.to_string())?;
    say(&format!("{}: {}", finding.name, finding.loses));
    say(&format!("\nThe model, by {}:", finding.search.words(finding.switch)));
    let found = guard::guarded(|| finding.search())??;
    found.says.lines().chain(found.way.lines()).for_each(|line| say(&format!("  {line}")));
    say("\nReal servers:");
    let real = real(finding, &installation, Variant::Defect)?;
    say(&format!("\nThe control: {}:", finding.control));
    let control = self::real(finding, &installation, Variant::Control)?;
    let (code, sentence) = verdict(found.is_violated, &real, &control);
    say(&format!("\n{}: {sentence}", finding.name));
    Ok(code)
}

fn real(
    finding: &Finding,
    installation: &Installation,
    variant: Variant,
) -> Result<Outcome, String> {
    let mut tell = |line: &str| say(&format!("  {line}"));
    let mut tale = Narration::new(&mut tell);
    let outcome = finding.reproduce(installation, variant, &mut tale);
    let outcome = outcome.map_err(|trouble| trouble.to_string())?;
    say(&format!("  {outcome}"));
    Ok(outcome)
}

/// Returns the exit code and its meaning.
fn verdict(is_found: bool, real: &Outcome, control: &Outcome) -> (u8, &'static str) {
    match (is_found, real, control) {
        (true, Outcome::Shown(_), Outcome::Kept(_)) => {
            (0, "the model finds it, real servers show it, and the control keeps what is promised")
        }
        // A known failure is reported even if another part is inconclusive.
        (false, _, _) => (1, "the model does not find it"),
        (_, Outcome::Kept(_), _) => (1, "real servers do not show it"),
        (_, _, Outcome::Shown(_)) => (1, "the control breaks the same promise"),
        (_, Outcome::Inconclusive(_), _) | (_, _, Outcome::Inconclusive(_)) => {
            (2, "inconclusive: the real servers did not reach the state in which the defect shows")
        }
    }
}

fn say(line: &str) {
    emit(&format!("{line}\n"), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_has_two_lines_for_each_finding_and_names_all() {
        let text = listing();
        assert!(text.lines().count() <= 2 * FINDINGS.len() + 6, "{text}");
        assert!(FINDINGS.iter().all(|finding| text.contains(finding.name)), "{text}");
    }

    #[test]
    fn only_all_three_together_are_a_success() {
        let shown = || Outcome::Shown("lost".to_owned());
        let kept = || Outcome::Kept("kept".to_owned());
        let neither = || Outcome::Inconclusive("slow".to_owned());
        let code = |found, real, control| verdict(found, &real, &control).0;
        assert_eq!(code(true, shown(), kept()), 0);
        assert_eq!(code(false, shown(), kept()), 1);
        assert_eq!(code(true, kept(), kept()), 1);
        assert_eq!(code(true, shown(), shown()), 1);
        assert_eq!(code(true, neither(), kept()), 2);
        assert_eq!(code(true, shown(), neither()), 2);
        assert_eq!(code(false, neither(), neither()), 1);
        assert_eq!(code(true, kept(), neither()), 1);
        assert_eq!(code(true, neither(), shown()), 1);
    }
}
