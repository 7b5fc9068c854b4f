//! The page of a whole run.

mod common;

use common::{failed, finding, held, short, violated, violation};
use std::collections::BTreeMap;
use vivarium_model::property::Objection;
use vivarium_model::verdict::Violation;
use vivarium_reports::run_page::run_page;
use vivarium_reports::summary::{Distinct, DistinctViolation, Finding, ScenarioReport, Shorter};

/// Returns the page without its style.
fn body(reports: &[ScenarioReport], pictures: &[(&str, &str)]) -> String {
    let pictures: BTreeMap<String, String> =
        pictures.iter().map(|(title, file)| (title.to_string(), file.to_string())).collect();
    let page = run_page(reports, &pictures);
    page.split_once("<body>").expect("it has a body").1.to_string()
}

/// A run of four scenarios: one held, one missed marks, one was violated, and one could not run.
#[test]
fn the_page_has_a_table_and_a_section_for_each_scenario() {
    let title = violated().title();
    insta::assert_snapshot!(body(
        &[held(), short(), violated(), failed()],
        &[(&title, "run-lock.html")]
    ));
}

#[test]
fn distinct_violations_are_listed_with_their_commands() {
    let kind = |property: &str, seeds: Vec<u64>| DistinctViolation {
        property: property.into(),
        saw: "client 1 waits for <itself>".into(),
        seeds,
        steps: 25,
        replay: "vivarium replay cases/a.json".into(),
    };
    let kinds = vec![kind("lock M6", vec![1, 5, 9]), kind("lock M1", vec![7])];
    let distinct = Distinct { violating: 4, minimised: 3, kinds };
    let shorter = Shorter::No("No smaller run that violates the same property was found.".into());
    let finding = Finding { distinct: Some(distinct), shorter: Some(shorter), ..finding() };
    let page = body(&[ScenarioReport { finding: Some(finding), ..violated() }], &[]);
    let has = |part: &str| assert!(page.contains(part), "{part}: {page}");
    has("<h3>2 distinct violations in 4 violating runs</h3>");
    has("<p>The first 3 were minimised and compared.</p>");
    has("<td>lock M6</td><td>client 1 waits for &lt;itself&gt;</td><td class=\"number\">3</td>");
    has("<p>No smaller run that violates the same property was found.</p>");
    assert!(!page.contains("class=\"picture\""), "there is no page to show");
}

/// Whatever a program, a monitor or a path says, it ends no element and begins none.
#[test]
fn a_hostile_text_stays_text() {
    let hostile = "</details><script>alert(\"1\")</script> & 'a' <b>";
    let objection = Objection::new(hostile, hostile);
    let violation = Violation { objection, ..violation() };
    let finding = Finding { violation, replay: hostile.into(), ..finding() };
    let report = ScenarioReport { scenario: hostile.into(), finding: Some(finding), ..violated() };
    let title = report.title();
    let page = body(&[report], &[(&title, "a\" onclick=\"b.html")]);
    assert!(!page.contains("<script>") && !page.contains("<b>"), "{page}");
    assert!(page.contains("href=\"a&quot; onclick=&quot;b.html\""), "{page}");
    assert_eq!(page.matches("<details").count(), page.matches("</details>").count());
}
