//! What storage costs by month, by the price table of the settings: the bytes that a store has at the end of each day of the month, as a part
//! of the month. Whole numbers alone: millionths of the currency.

use std::collections::BTreeMap;

use strongroom_registry::statistics::{self as rows, GrowthRow, Span};

use super::days::{day_of, month_around, month_of};
use crate::settings::prices::{Price, prices};
use crate::{EngineError, Home};

/// Bytes of a terabyte.
const TERABYTE: i128 = 1_000_000_000_000;
const PAGE: usize = 500;

/// Whose bytes they are: month, institution, collection, store.
pub(crate) type CostKey = (String, String, String, String);

/// What a month costs. Sums are exact: only what is shown is rounded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Cost {
    /// The days of the month.
    of_days: i128,
    /// Bytes, each counted once for every day.
    byte_days: i128,
    /// These with the price of a terabyte in millionths of the currency.
    priced: i128,
    /// Those of the bytes for which there is no price.
    unpriced_byte_days: i128,
}

impl Cost {
    /// Adds what others cost in the same month.
    pub(crate) fn add(&mut self, other: Self) {
        self.of_days = other.of_days;
        self.byte_days = self.byte_days.saturating_add(other.byte_days);
        self.priced = self.priced.saturating_add(other.priced);
        self.unpriced_byte_days = self.unpriced_byte_days.saturating_add(other.unpriced_byte_days);
    }

    /// Bytes on the average of the days.
    pub(crate) fn bytes(self) -> i64 {
        average(self.byte_days, self.of_days)
    }

    /// Bytes of these for which there is no price.
    pub(crate) fn without_price(self) -> i64 {
        average(self.unpriced_byte_days, self.of_days)
    }

    /// Millionths of the currency.
    pub(crate) fn millionths(self) -> i128 {
        nearest(self.priced, TERABYTE * self.of_days.max(1))
    }
}

fn average(byte_days: i128, of_days: i128) -> i64 {
    i64::try_from(nearest(byte_days, of_days.max(1))).unwrap_or(i64::MAX)
}

/// A quotient to the nearest whole number; halves away from zero.
fn nearest(dividend: i128, divisor: i128) -> i128 {
    let half = divisor / 2 * dividend.signum();
    dividend.saturating_add(half) / divisor
}

/// The cost of the months of these days: of each day up to today.
pub(crate) fn costs(home: &Home, span: Span, (from, to): (i64, i64)) -> Result<BTreeMap<CostKey, Cost>, EngineError> {
    let prices = prices(&home.settings).map_err(EngineError::Usage)?;
    let today = day_of(super::now(home)?);
    // What was kept while the clock was ahead is kept today.
    let (asked_to, to) = (to, to.min(today.saturating_add(1)));
    let mut kept: BTreeMap<(String, String, String, String), i64> = BTreeMap::new();
    let mut costs: BTreeMap<CostKey, Cost> = BTreeMap::new();
    let (mut after, mut reached) = (None, None);
    loop {
        let page = home.registry.read(|tx| rows::growth(tx, span, asked_to, after.clone(), PAGE))?;
        let Some(last) = page.last() else { break };
        after = Some(last.cursor.clone());
        for GrowthRow { day, institution, collection, store, class, bytes, .. } in page {
            let day = day.min(today);
            let since = reached.unwrap_or(day);
            if day > since {
                add_days(&mut costs, &kept, &prices, (since.max(from), day));
            }
            reached = Some(day);
            *kept.entry((institution, collection, store, class)).or_default() += bytes;
        }
    }
    if let Some(since) = reached {
        add_days(&mut costs, &kept, &prices, (since.max(from), to));
    }
    Ok(costs)
}

/// Adds what was kept on each of these days, month by month.
fn add_days(
    costs: &mut BTreeMap<CostKey, Cost>,
    kept: &BTreeMap<(String, String, String, String), i64>,
    prices: &[Price],
    (mut from, to): (i64, i64),
) {
    while from < to {
        let (first, next) = month_around(from);
        let until = to.min(next);
        let (days, of_days) = (i128::from(until - from), i128::from((next - first).max(1)));
        for ((institution, collection, store, class), bytes) in kept.iter().filter(|(_, bytes)| **bytes != 0) {
            let key = (month_of(from), institution.clone(), collection.clone(), store.clone());
            let cost = costs.entry(key).or_default();
            let byte_days = i128::from(*bytes) * days;
            let (priced, unpriced_byte_days) = match price_of(prices, store, class) {
                Some(price) => (byte_days.saturating_mul(i128::from(price)), 0),
                None => (0, byte_days),
            };
            cost.add(Cost { of_days, byte_days, priced, unpriced_byte_days });
        }
        from = until;
    }
}

fn price_of(prices: &[Price], store: &str, class: &str) -> Option<i64> {
    let of = |wanted: Option<&str>| {
        prices
            .iter()
            .find(|price| price.store == store && price.class.as_deref() == wanted)
            .map(|price| price.millionths)
    };
    of(Some(class)).or_else(|| of(None))
}

/// An amount with two decimals, rounded to the nearest.
pub(crate) fn money(millionths: i128) -> String {
    let hundredths = (millionths.abs() + 5_000) / 10_000;
    let sign = if millionths < 0 && hundredths > 0 { "-" } else { "" };
    format!("{sign}{}.{:02}", hundredths / 100, hundredths % 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_month_costs_the_days_on_which_bytes_were_kept() {
        let price = |class: Option<&str>, millionths| Price {
            store: "s3".to_owned(),
            class: class.map(str::to_owned),
            millionths,
        };
        let prices = [price(None, 20_000_000), price(Some("COLD"), 1_000_000)];
        let key = |class: &str| ("a.edu".to_owned(), String::new(), "s3".to_owned(), class.to_owned());
        let kept = [(key(""), 3_000_000_000_000), (key("COLD"), 1_000_000_000_000)].into();
        let mut costs = BTreeMap::new();
        // 2026-01-22 to 2026-02-14: ten of 31 days and fourteen of 28.
        let day = day_of(strongroom_registry::Time(1_769_040_000_000_000));
        add_days(&mut costs, &kept, &prices, (day, day + 24));
        let of: Vec<_> =
            costs.into_iter().map(|(key, cost)| (key.0, money(cost.millionths()), cost.without_price())).collect();
        assert_eq!(of, [("2026-01".to_owned(), "19.68".to_owned(), 0), ("2026-02".to_owned(), "30.50".to_owned(), 0)]);
        // Parts of a month are added before anything is rounded: a byte on each of 31 days is a byte.
        let kept = [(key(""), 1)].into();
        let mut costs = BTreeMap::new();
        for part in 0..31 {
            let first = day_of(strongroom_registry::Time(1_767_225_600_000_000));
            add_days(&mut costs, &kept, &prices, (first + part, first + part + 1));
        }
        assert_eq!(costs.into_values().map(Cost::bytes).collect::<Vec<_>>(), [1]);
        assert_eq!(
            (money(-4), money(-10_000), money(1_234_567_890)),
            ("0.00".to_owned(), "-0.01".to_owned(), "1234.57".to_owned())
        );
    }
}
