//! The price table of `[statistics]`: what a terabyte costs for a month, by store and storage class. Money is a whole number of millionths.

use std::collections::BTreeSet;

use super::tree::Settings;

/// The largest price of a terabyte for a month.
const MOST: i64 = 1_000_000;

/// A line of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Price {
    /// The store.
    pub(crate) store: String,
    /// The storage class; none: every one that has no line of its own.
    pub(crate) class: Option<String>,
    /// Millionths of the currency for 10^12 bytes and a month.
    pub(crate) millionths: i64,
}

/// The lines of the table.
///
/// # Errors
/// The line that is none, and why.
pub(crate) fn prices(settings: &Settings) -> Result<Vec<Price>, String> {
    settings.statistics.prices.iter().map(|line| price(line).ok_or_else(|| unfit(line))).collect()
}

fn unfit(line: &str) -> String {
    format!(
        "{line:?} is no price; write STORE=PRICE or STORE/CLASS=PRICE, such as \"primary=5.50\", with a price from 0 to {MOST} and at most \
         six decimals"
    )
}

fn price(line: &str) -> Option<Price> {
    let (of, amount) = line.split_once('=')?;
    let (store, class) = match of.trim().split_once('/') {
        Some((_, "")) => return None,
        Some((store, class)) => (store, Some(class.to_owned())),
        None => (of.trim(), None),
    };
    Some(Price { store: store.to_owned(), class, millionths: millionths(amount.trim())? })
}

/// A decimal number as millionths, where it has at most six decimals.
fn millionths(text: &str) -> Option<i64> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || decimals.len() > 6 || !are_digits(whole) || !are_digits(decimals) {
        return None;
    }
    let decimals: i64 = format!("{decimals:0<6}").parse().ok()?;
    let amount = whole.parse::<i64>().ok()?.checked_mul(1_000_000)?.checked_add(decimals)?;
    Some(amount).filter(|amount| *amount <= MOST * 1_000_000)
}

/// Stores that have a price and are not in the settings: former ones, whose past months are priced, or a slip of the pen.
pub(crate) fn former_stores(settings: &Settings) -> BTreeSet<String> {
    let named = prices(settings).unwrap_or_default().into_iter().map(|price| price.store);
    named.filter(|store| !settings.stores.contains_key(store)).collect()
}

/// What does not fit of `[statistics]`, and why.
pub(super) fn check(settings: &Settings) -> Result<(), (&'static str, String)> {
    let statistics = &settings.statistics;
    if statistics.quota_warning > 100 {
        return Err((
            "statistics.quota_warning",
            format!("{} percent are more than all of a quota", statistics.quota_warning),
        ));
    }
    if statistics.weekly_report_hour > 23 {
        return Err((
            "statistics.weekly_report_hour",
            format!("a day has no hour {}; give 0 to 23", statistics.weekly_report_hour),
        ));
    }
    let prices = prices(settings).map_err(|reason| ("statistics.prices", reason))?;
    for price in &prices {
        let same = prices.iter().filter(|other| (&other.store, &other.class) == (&price.store, &price.class));
        if same.count() > 1 {
            return Err(("statistics.prices", format!("store {:?} has two prices of one kind", price.store)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_decimal_numbers() {
        let of = |line| price(line).map(|price| (price.store, price.class, price.millionths));
        assert_eq!(of("primary=5.5"), Some(("primary".to_owned(), None, 5_500_000)));
        assert_eq!(of("s3/DEEP_ARCHIVE = 0.990001"), Some(("s3".to_owned(), Some("DEEP_ARCHIVE".to_owned()), 990_001)));
        for wrong in
            ["primary", "primary=", "primary=-1", "primary=1.0000001", "primary=1e3", "primary/=1", "a=1000000.000001"]
        {
            assert_eq!(of(wrong), None, "{wrong}");
            assert!(unfit(wrong).contains("from 0 to 1000000"), "{}", unfit(wrong));
        }
        assert_eq!(of("a=1000000"), Some(("a".to_owned(), None, 1_000_000_000_000)));
    }
}
