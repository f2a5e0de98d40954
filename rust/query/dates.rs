//! Dates as people write them -> moments. Days begin at midnight UTC, weeks on Monday.

use jiff::{
    Span, Timestamp,
    civil::{Date, DateTime},
    tz::TimeZone,
};

use super::Filter;
use crate::scope::Period;

/// What `name:value` asks for; None when `value` is not a date.
///
/// `after:2024-05` begins with the first moment of that month, `before:2024-05` ends there, and both are about the last
/// change. `updated:` and `created:` ask for a time within the named one, or take `>`, `>=`, `<`, `<=` and `FROM..TO`.
pub(super) fn filter(name: &str, value: &str, today: Date) -> Option<Filter> {
    match name {
        "after" => {
            let from_ms = period(value, today)?.from_ms;
            Some(Filter::Updated(Period { from_ms, until_ms: None }))
        }
        "before" => {
            let until_ms = period(value, today)?.from_ms;
            Some(Filter::Updated(Period { from_ms: None, until_ms }))
        }
        "updated" => compared(value, today).map(Filter::Updated),
        "created" => compared(value, today).map(Filter::Created),
        _ => None,
    }
}

fn compared(value: &str, today: Date) -> Option<Period> {
    if let Some((from, to)) = value.split_once("..") {
        let from_ms = if from.is_empty() { None } else { Some(period(from, today)?.from_ms?) };
        let until_ms = if to.is_empty() { None } else { Some(period(to, today)?.until_ms?) };
        return (from_ms.is_some() || until_ms.is_some()).then_some(Period { from_ms, until_ms });
    }
    let from = |from_ms| Period { from_ms: Some(from_ms), until_ms: None };
    let until = |until_ms| Period { from_ms: None, until_ms: Some(until_ms) };
    if let Some(value) = value.strip_prefix(">=") {
        period(value, today)?.from_ms.map(from)
    } else if let Some(value) = value.strip_prefix("<=") {
        period(value, today)?.until_ms.map(until)
    } else if let Some(value) = value.strip_prefix('>') {
        period(value, today)?.until_ms.map(from)
    } else if let Some(value) = value.strip_prefix('<') {
        period(value, today)?.from_ms.map(until)
    } else {
        period(value, today)
    }
}

/// The time that `value` names. It always has a beginning; `30d` has no end, for it reaches until now.
fn period(value: &str, today: Date) -> Option<Period> {
    let value = value.trim();
    numeric(value).or_else(|| moment(value)).or_else(|| relative(value, today))
}

/// `2024`, `2024-05`, `2024-5-31`, `2024/05/31` or `20240531`.
fn numeric(value: &str) -> Option<Period> {
    if !value.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b'/')) {
        return None;
    }
    let compact = (value.len() == 8).then(|| [&value[..4], &value[4..6], &value[6..]]);
    let parts: Vec<&str> = match compact {
        Some(parts) if value.bytes().all(|byte| byte.is_ascii_digit()) => parts.to_vec(),
        _ => value.split(['-', '/']).collect(),
    };
    if parts[0].len() != 4 || parts[1..].iter().any(|part| part.len() > 2) {
        return None;
    }
    let year = parts[0].parse().ok()?;
    let part = |index: usize| parts.get(index).map_or(Some(1), |part| part.parse().ok());
    let first = Date::new(year, part(1)?, part(2)?).ok()?;
    let length = match parts.len() {
        1 => Span::new().years(1),
        2 => Span::new().months(1),
        3 => Span::new().days(1),
        _ => return None,
    };
    days(first, first.checked_add(length).ok()?)
}

/// `2024-05-31T10:00`, with or without a zone; UTC without.
fn moment(value: &str) -> Option<Period> {
    if !value.contains(['T', 't', ' ']) {
        return None;
    }
    let timestamp = match value.parse::<Timestamp>() {
        Ok(timestamp) => timestamp,
        Err(_) => TimeZone::UTC.to_timestamp(value.parse::<DateTime>().ok()?).ok()?,
    };
    let ms = timestamp.as_millisecond();
    Some(Period { from_ms: Some(ms), until_ms: Some(ms + 1) })
}

/// `today`, `yesterday`, `this-week`, `last-month`, `30d`, `2-weeks`, `3 days ago`.
fn relative(value: &str, today: Date) -> Option<Period> {
    let value = value.to_ascii_lowercase().replace(['-', '_'], " ");
    let monday = || today.checked_sub(Span::new().days(i64::from(today.weekday().to_monday_zero_offset()))).ok();
    let from = |first: Date, length: Span| days(first, first.checked_add(length).ok()?);
    let back = |first: Date, length: Span| days(first.checked_sub(length).ok()?, first);
    match value.as_str() {
        "today" => return from(today, Span::new().days(1)),
        "yesterday" => return back(today, Span::new().days(1)),
        "this week" => return from(monday()?, Span::new().weeks(1)),
        "last week" => return back(monday()?, Span::new().weeks(1)),
        "this month" => return from(today.first_of_month(), Span::new().months(1)),
        "last month" => return back(today.first_of_month(), Span::new().months(1)),
        "this year" => return from(today.first_of_year(), Span::new().years(1)),
        "last year" => return back(today.first_of_year(), Span::new().years(1)),
        _ => {}
    }
    let age = value.strip_suffix(" ago").unwrap_or(&value);
    let unit = age.trim_start_matches(|c: char| c.is_ascii_digit());
    let count: i64 = age[..age.len() - unit.len()].parse().ok()?;
    let span = match unit.trim() {
        "d" | "day" | "days" => Span::new().try_days(count),
        "w" | "week" | "weeks" => Span::new().try_weeks(count),
        "m" | "month" | "months" => Span::new().try_months(count),
        "y" | "year" | "years" => Span::new().try_years(count),
        _ => return None,
    };
    let first = today.checked_sub(span.ok()?).ok()?;
    Some(Period { from_ms: Some(midnight_ms(first)?), until_ms: None })
}

fn days(first: Date, end: Date) -> Option<Period> {
    Some(Period { from_ms: Some(midnight_ms(first)?), until_ms: Some(midnight_ms(end)?) })
}

fn midnight_ms(date: Date) -> Option<i64> {
    Some(TimeZone::UTC.to_timestamp(date.at(0, 0, 0, 0)).ok()?.as_millisecond())
}

#[cfg(test)]
mod tests {
    use jiff::civil::{Date, date as d};

    use super::{Filter, filter, midnight_ms};
    use crate::scope::Period;

    /// A Friday.
    const TODAY: Date = d(2026, 5, 15);

    #[test]
    fn dates_are_days_of_utc_and_as_wide_as_they_are_written() {
        for (name, value, from, until) in [
            ("after", "2024", Some(d(2024, 1, 1)), None),
            ("after", "2024-05", Some(d(2024, 5, 1)), None),
            ("after", "2024/05/03", Some(d(2024, 5, 3)), None),
            ("after", "20240503", Some(d(2024, 5, 3)), None),
            ("before", "2024-05", None, Some(d(2024, 5, 1))),
            ("after", "today", Some(d(2026, 5, 15)), None),
            ("before", "yesterday", None, Some(d(2026, 5, 14))),
            ("after", "yesterday", Some(d(2026, 5, 14)), None),
            ("after", "last-week", Some(d(2026, 5, 4)), None),
            ("after", "last week", Some(d(2026, 5, 4)), None),
            ("after", "last_month", Some(d(2026, 4, 1)), None),
            ("after", "7d", Some(d(2026, 5, 8)), None),
            ("after", "2w", Some(d(2026, 5, 1)), None),
            ("after", "3-months", Some(d(2026, 2, 15)), None),
            ("before", "2 years ago", None, Some(d(2024, 5, 15))),
            ("updated", "2024-02", Some(d(2024, 2, 1)), Some(d(2024, 3, 1))),
            ("updated", "today", Some(d(2026, 5, 15)), Some(d(2026, 5, 16))),
            ("updated", "this-week", Some(d(2026, 5, 11)), Some(d(2026, 5, 18))),
            ("updated", "last-year", Some(d(2025, 1, 1)), Some(d(2026, 1, 1))),
            ("updated", "30d", Some(d(2026, 4, 15)), None),
            ("created", "2023", Some(d(2023, 1, 1)), Some(d(2024, 1, 1))),
            ("created", ">2024-05", Some(d(2024, 6, 1)), None),
            ("created", ">=2024-05", Some(d(2024, 5, 1)), None),
            ("created", "<2024-05", None, Some(d(2024, 5, 1))),
            ("created", "<=2024-05", None, Some(d(2024, 6, 1))),
            ("created", "2024..2024-05", Some(d(2024, 1, 1)), Some(d(2024, 6, 1))),
            ("created", "2024..", Some(d(2024, 1, 1)), None),
            ("created", "..2024", None, Some(d(2025, 1, 1))),
        ] {
            let period = Period { from_ms: from.and_then(midnight_ms), until_ms: until.and_then(midnight_ms) };
            let expected = if name == "created" { Filter::Created(period) } else { Filter::Updated(period) };
            assert_eq!(filter(name, value, TODAY), Some(expected), "{name}:{value}");
        }
    }

    #[test]
    fn moments_count_to_the_millisecond_and_are_utc_unless_they_say_otherwise() {
        let midnight = midnight_ms(d(2024, 5, 3)).unwrap();
        let from = Period { from_ms: Some(midnight + (10 * 60 + 30) * 60 * 1000), until_ms: None };
        for value in ["2024-05-03T10:30", "2024-05-03t10:30:00Z", "2024-05-03 10:30", "2024-05-03T12:30:00+02:00"] {
            assert_eq!(filter("after", value, TODAY), Some(Filter::Updated(from)), "{value}");
        }
    }
}
