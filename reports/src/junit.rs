//! The report for CI servers: JUnit XML, with one test case per scenario.

use crate::exploration::ExplorationReport;
use crate::summary::{Finding, ScenarioReport};
use crate::violation::violation_report;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use std::time::Duration;
use vivarium_model::verdict::Verdict;

/// Returns the XML report of a sweep. A violation is a failure, with its report as text; an error and an inconclusive
/// result are errors, so that no CI server shows them as passed.
pub fn junit_report(reports: &[ScenarioReport]) -> String {
    let case = |report: &ScenarioReport| {
        let finding = report.finding.as_ref();
        let mut case = test_case(report.title(), &report.verdict, finding, report.wall);
        if report.is_empty_shard() {
            let mut skipped = TestCaseStatus::skipped();
            skipped
                .set_message("this shard has no seeds, because there are more shards than seeds");
            case.status = skipped;
        }
        case
    };
    document("scenarios", reports.iter().map(case))
}

/// Returns the XML report of searches, in the same form.
pub fn exploration_junit(reports: &[ExplorationReport]) -> String {
    let case = |report: &ExplorationReport| {
        let finding = report.finding.as_ref();
        test_case(report.title(), &report.verdict, finding, report.figures.wall)
    };
    document("explorations", reports.iter().map(case))
}

fn document(suite: &str, cases: impl Iterator<Item = TestCase>) -> String {
    let mut suite = TestSuite::new(suite);
    suite.add_test_cases(cases);
    let mut document = Report::new("vivarium");
    document.add_test_suite(suite);
    document.to_string().expect("text is written as XML")
}

fn test_case(
    title: String,
    verdict: &Verdict,
    finding: Option<&Finding>,
    wall: Duration,
) -> TestCase {
    let status = match verdict {
        Verdict::Held { .. } | Verdict::Exhausted { .. } => TestCaseStatus::success(),
        Verdict::Violated(violation) => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_type(&violation.objection.property);
            status.set_message(&violation.objection.saw);
            if let Some(finding) = finding {
                status.set_description(violation_report(finding));
            }
            status
        }
        Verdict::Unreached { .. } | Verdict::Bounded { .. } | Verdict::Error(_) => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
            status.set_type(verdict.word());
            status.set_message(verdict.to_string());
            status
        }
    };
    let mut case = TestCase::new(title, status);
    case.set_classname("vivarium");
    case.set_time(wall);
    case.set_system_out(verdict.to_string());
    case
}
