//! Values as Java prints them.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

/// Prints a number as `Double.toString`.
pub(super) struct Double(pub(super) f64);

impl fmt::Display for Double {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.0;
        let size = value.abs();
        if value.is_nan() {
            f.write_str("NaN")
        } else if value.is_infinite() {
            f.write_str(if value > 0.0 { "Infinity" } else { "-Infinity" })
        } else if size == 0.0 || (1e-3..1e7).contains(&size) {
            write!(f, "{value:?}")
        } else {
            let text = format!("{value:e}");
            let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
            let point = if mantissa.contains('.') { "" } else { ".0" };
            write!(f, "{mantissa}{point}E{exponent}")
        }
    }
}

/// Prints milliseconds since 1970 as `Date.toString` in UTC: `Fri Feb 25 08:49:00 UTC 2022`.
pub(super) struct Date(pub(super) i64);

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
        const MONTHS: [&str; 12] =
            ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
        let seconds = self.0.div_euclid(1_000);
        let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
        let (year, month, day) = civil(days);
        let weekday = WEEKDAYS[days.rem_euclid(7) as usize];
        let month = MONTHS[month];
        let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
        write!(f, "{weekday} {month} {day:02} {hour:02}:{minute:02}:{second:02} UTC {year}")
    }
}

/// Returns the year, the month from 0 to 11 and the day of the month of a day that is counted since 1970.
fn civil(days: i64) -> (i64, usize, i64) {
    // Years begin in March here, so that a leap day is the last day of its year. An era has 400 years.
    let since_march_of_year_0 = days + 719_468;
    let era = since_march_of_year_0.div_euclid(146_097);
    let day_of_era = since_march_of_year_0.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_since_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_since_march + 2) / 5 + 1;
    let month = (month_since_march + 2) % 12;
    let year = year_of_era + era * 400 + i64::from(month < 2);
    (year, month as usize, day)
}

/// Prints an address without a host name as `InetSocketAddress.toString`: `/127.0.0.1:2181`.
pub(super) struct SocketAddress(pub(super) SocketAddr);

impl fmt::Display for SocketAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/{}", host_and_port(self.0))
    }
}

/// Returns the address as JSON has it: `127.0.0.1:2181`, and for IPv6 with all eight groups in brackets.
pub(super) fn host_and_port(address: SocketAddr) -> String {
    match address.ip() {
        IpAddr::V4(_) => address.to_string(),
        IpAddr::V6(ip) => {
            let groups = ip.segments().map(|group| format!("{group:x}"));
            format!("[{}]:{}", groups.join(":"), address.port())
        }
    }
}
