//! The report for CI servers that show test results: JUnit XML, one test case per scenario.

use crate::summary::ScenarioReport;
use crate::violation::violation_report;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use vivarium_model::verdict::Verdict;

/// The XML document. A violation is a failure, with its report as text; an error and an open
/// question are errors, so that no CI server shows either in green.
pub fn junit_report(reports: &[ScenarioReport]) -> String {
    let mut suite = TestSuite::new("scenarios");
    suite.add_test_cases(reports.iter().map(test_case));
    let mut document = Report::new("vivarium");
    document.add_test_suite(suite);
    document.to_string().expect("text is written as XML")
}

fn test_case(report: &ScenarioReport) -> TestCase {
    let status = match &report.verdict {
        Verdict::Held { .. } | Verdict::Exhausted { .. } => TestCaseStatus::success(),
        Verdict::Violated(violation) => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_type(&violation.objection.property);
            status.set_message(&violation.objection.saw);
            if let Some(finding) = &report.finding {
                status.set_description(violation_report(finding));
            }
            status
        }
        Verdict::Bounded { .. } | Verdict::Error(_) => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
            status.set_type(report.verdict.word());
            status.set_message(report.verdict.to_string());
            status
        }
    };
    let mut case = TestCase::new(report.title(), status);
    case.set_classname("vivarium");
    case.set_time(report.wall);
    case.set_system_out(report.verdict.to_string());
    case
}
