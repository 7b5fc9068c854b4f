//! Breaking long lines where they read well, with continuations indented to the start of the text.

/// Breaks the lines of a text so that none is wider than `width` characters, as far as its words allow.
///
/// ```
/// use vivarium_reports::folding::fold;
///
/// let text = "  saw   client 1 holds the lock, and so does client 2\n";
/// assert_eq!(fold(text, 40), "  saw   client 1 holds the lock, and so\n        does client 2\n");
/// ```
pub fn fold(text: &str, width: usize) -> String {
    text.split_inclusive('\n').map(|line| folded(line, width)).collect()
}

fn folded(line: &str, width: usize) -> String {
    if line.trim_end().chars().count() <= width {
        return line.to_string();
    }
    let hang = text_begins(line).filter(|hang| hang * 2 <= width).unwrap_or(0);
    let (mut folded, mut column) = (String::new(), 0);
    for word in line.split_inclusive(' ') {
        let length = word.trim_end().chars().count();
        // The part before the text is never separated from it.
        if column > hang && column + length > width && length > 0 {
            folded.truncate(folded.trim_end().len());
            folded.push('\n');
            folded.push_str(&" ".repeat(hang));
            column = hang;
        }
        folded.push_str(word);
        column += word.chars().count();
    }
    folded
}

/// Returns the column where a line's text begins: after the last gap of two spaces in its first part, which follows
/// times, numbers and names.
fn text_begins(line: &str) -> Option<usize> {
    let letters: Vec<char> = line.chars().take(40).collect();
    let begins = |at: &usize| letters[*at] != ' ' && letters[at - 2..*at] == [' ', ' '];
    (2..letters.len()).rev().find(begins)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_step_goes_on_below_its_text() {
        let step = "     0.452882s  #68   server 1: log fsync, acknowledges 1:1 to its leader\n";
        let says = "     0.452882s  #68   server 1: log fsync,\n                      acknowledges 1:1 to\n                      its leader\n";
        assert_eq!(fold(step, 44), says);
    }

    #[test]
    fn a_line_without_spaces_stays() {
        let path = "  case file  /a/very/long/path/that/has/no/spaces/in/it.json\n";
        assert_eq!(fold(path, 30), path);
    }

    proptest! {
        #[test]
        fn no_word_is_lost(text in "[ -~\n]{0,300}", width in 10_usize..100) {
            let words = |text: &str| text.split_whitespace().map(str::to_string).collect::<Vec<_>>();
            prop_assert_eq!(words(&fold(&text, width)), words(&text));
        }

        #[test]
        fn words_that_fit_make_lines_that_fit(text in "([a-z]{1,8} ){0,60}", width in 10_usize..100) {
            let folded = fold(&text, width);
            let widest = folded.lines().map(|line| line.trim_end().chars().count()).max();
            prop_assert!(widest.unwrap_or(0) <= width);
        }
    }
}
