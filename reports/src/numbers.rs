//! Numbers and durations as text.

use std::time::Duration;

/// Formats a number in groups of three digits: `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a duration in its two largest units: `850 ms`, `12.5 s`, `3 min 20 s`, `5 h 2 min`, `41 d 3 h`.
pub fn span(time: Duration) -> String {
    let seconds = time.as_secs();
    let two = |large: u64, large_unit: &str, small: u64, small_unit: &str| {
        format!("{large} {large_unit} {small} {small_unit}")
    };
    match seconds {
        0 => format!("{} ms", time.as_millis()),
        1..60 => format!("{}.{} s", seconds, time.subsec_millis() / 100),
        60..3_600 => two(seconds / 60, "min", seconds % 60, "s"),
        3_600..86_400 => two(seconds / 3_600, "h", seconds % 3_600 / 60, "min"),
        _ => two(seconds / 86_400, "d", seconds % 86_400 / 3_600, "h"),
    }
}
