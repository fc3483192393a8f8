//! strftime_now: the host's local time by Python's format letters, in the C locale.

use super::error::{runtime, Outcome};

/// Local civil time, given by the host so that tests can fix it.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    pub year: i64,
    pub month: u32,
    pub day: u32,
    pub hour: u32,
    pub minute: u32,
    pub second: u32,
}

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

impl Clock {
    /// Local time of a count of seconds since 1970 that includes the offset of the time zone.
    pub fn from_local_seconds(seconds: i64) -> Clock {
        let days = seconds.div_euclid(86_400);
        let rest = seconds.rem_euclid(86_400) as u32;
        // Days to a civil date in the proleptic Gregorian calendar, with years that begin in March.
        let shifted = days + 719_468;
        let era = shifted.div_euclid(146_097);
        let day_of_era = shifted.rem_euclid(146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_index = (5 * day_of_year + 2) / 153;
        let day = (day_of_year - (153 * month_index + 2) / 5 + 1) as u32;
        let month = if month_index < 10 { month_index + 3 } else { month_index - 9 } as u32;
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        Clock { year, month, day, hour: rest / 3600, minute: rest / 60 % 60, second: rest % 60 }
    }

    /// Day of the year from 0.
    fn day_of_year(&self) -> u32 {
        const BEFORE: [u32; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
        let leap = self.year % 4 == 0 && (self.year % 100 != 0 || self.year % 400 == 0);
        BEFORE[(self.month as usize + 11) % 12] + self.day - 1 + u32::from(leap && self.month > 2)
    }

    /// Day of the week, Sunday is 0.
    fn weekday(&self) -> u32 {
        let before = self.year - 1;
        let days = before * 365 + before.div_euclid(4) - before.div_euclid(100)
            + before.div_euclid(400)
            + i64::from(self.day_of_year());
        ((days + 1).rem_euclid(7)) as u32
    }

    pub fn format(&self, format: &str) -> Outcome<String> {
        let mut out = String::new();
        let mut chars = format.chars();
        while let Some(c) = chars.next() {
            if c != '%' {
                out.push(c);
                continue;
            }
            let mut letter = chars.next();
            let bare = letter == Some('-');
            if bare {
                letter = chars.next();
            }
            let field = match letter {
                Some(letter) => self.field(letter)?,
                None => "%".to_string(),
            };
            out.push_str(match field.trim_start_matches(['0', ' ']) {
                trimmed if bare && !trimmed.is_empty() => trimmed,
                _ if bare => "0",
                _ => &field,
            });
        }
        Ok(out)
    }

    fn field(&self, letter: char) -> Outcome<String> {
        let twelve = if self.hour % 12 == 0 { 12 } else { self.hour % 12 };
        let month = MONTHS[(self.month as usize + 11) % 12];
        let day = DAYS[self.weekday() as usize % 7];
        let half = if self.hour < 12 { "AM" } else { "PM" };
        Ok(match letter {
            'Y' => self.year.to_string(),
            'C' => format!("{:02}", self.year / 100),
            'y' => format!("{:02}", self.year.rem_euclid(100)),
            'm' => format!("{:02}", self.month),
            'd' => format!("{:02}", self.day),
            'e' => format!("{:2}", self.day),
            'H' => format!("{:02}", self.hour),
            'k' => format!("{:2}", self.hour),
            'I' => format!("{twelve:02}"),
            'l' => format!("{twelve:2}"),
            'M' => format!("{:02}", self.minute),
            'S' => format!("{:02}", self.second),
            'f' => "000000".to_string(),
            'p' => half.to_string(),
            'P' => half.to_lowercase(),
            'B' => month.to_string(),
            'b' | 'h' => month[..3].to_string(),
            'A' => day.to_string(),
            'a' => day[..3].to_string(),
            'j' => format!("{:03}", self.day_of_year() + 1),
            'u' => (if self.weekday() == 0 { 7 } else { self.weekday() }).to_string(),
            'w' => self.weekday().to_string(),
            'U' => format!("{:02}", (self.day_of_year() + 7 - self.weekday()) / 7),
            'W' => format!("{:02}", (self.day_of_year() + 7 - (self.weekday() + 6) % 7) / 7),
            'D' | 'x' => {
                format!("{:02}/{:02}/{:02}", self.month, self.day, self.year.rem_euclid(100))
            }
            'F' => format!("{}-{:02}-{:02}", self.year, self.month, self.day),
            'R' => format!("{:02}:{:02}", self.hour, self.minute),
            'T' | 'X' => format!("{:02}:{:02}:{:02}", self.hour, self.minute, self.second),
            'r' => format!("{twelve:02}:{:02}:{:02} {half}", self.minute, self.second),
            'c' => format!(
                "{} {} {:2} {:02}:{:02}:{:02} {}",
                &day[..3],
                &month[..3],
                self.day,
                self.hour,
                self.minute,
                self.second,
                self.year
            ),
            'n' => "\n".to_string(),
            't' => "\t".to_string(),
            '%' => "%".to_string(),
            // datetime.now() carries no time zone.
            'z' | 'Z' => String::new(),
            other => return Err(runtime(format!("strftime_now does not know %{other}"))),
        })
    }
}
