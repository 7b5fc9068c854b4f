//! Lists, counts and the messages of panics as English text.

use std::any::Any;
use std::fmt::Display;

/// The most characters of a list that are written out; the rest is replaced by a count.
const LIST_ROOM: usize = 90;

/// Joins items with commas, as many as fit in 90 characters but at least one, and appends the count of the
/// others.
pub fn list<T: Display>(items: impl ExactSizeIterator<Item = T>) -> String {
    let total = items.len();
    let mut text = String::new();
    for (at, item) in items.enumerate() {
        let item = item.to_string();
        if at > 0 && text.chars().count() + item.chars().count() > LIST_ROOM {
            return format!("{text}, … {} more", total - at);
        }
        if at > 0 {
            text.push_str(", ");
        }
        text.push_str(&item);
    }
    text
}

/// Returns the count with its noun: `1 byte`, `2 bytes`.
pub fn plural(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Returns a panic's message.
pub fn panic_message(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("a panic without a message")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_is_cut_and_its_rest_counted() {
        assert_eq!(list(["a", "b"].iter()), "a, b");
        assert_eq!(list([""; 0].iter()), "");
        let names: Vec<String> = (0..40).map(|at| format!("member-{at:010}")).collect();
        let text = list(names.iter());
        assert!(text.ends_with(", … 36 more"), "{text}");
        assert_eq!(text.matches("member-").count(), 4);
        let giant = "x".repeat(300);
        assert_eq!(list([&giant].into_iter()), giant, "at least one item is there");
    }
}
