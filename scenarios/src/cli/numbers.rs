//! Numbers on the command line.

use vivarium_sim::bounds::within;

/// Reads a flag's number, in which `_` may part the digits.
///
/// # Errors
/// One sentence, if it is no number or out of its bounds.
pub(super) fn number(flag: &str, text: &str, least: u64, most: u64) -> Result<u64, String> {
    let digits = text.replace('_', "");
    let is_number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    match digits.parse::<u64>() {
        Ok(number) => Ok(within(&format!("{flag} {text}"), number, least, most).map(|()| number)?),
        _ if is_number => Err(format!("`{flag} {text}` is too many: give at most {most}")),
        _ => Err(format!("`{flag} {text}` is not a number: write e.g. `{flag} 2`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_bounds() {
        assert_eq!(number("--lost", "1_000", 0, 2_000), Ok(1_000));
        let refused = |text| number("--clients", text, 1, 100).expect_err("it makes no sense");
        assert_eq!(refused("0"), "`--clients 0`: give at least 1");
        assert_eq!(refused("101"), "`--clients 101` is too many: give at most 100");
        assert_eq!(refused("-2"), "`--clients -2` is not a number: write e.g. `--clients 2`");
        assert_eq!(
            refused("99999999999999999999999"),
            "`--clients 99999999999999999999999` is too many: give at most 100"
        );
    }
}
