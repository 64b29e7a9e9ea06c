//! Axes of plots: round numbers along a range, with marks and labels.

use super::scene::{Anchor, FAINT, GRID, INK, Rectangle, Scene};

/// Length of a mark in pixels.
pub(super) const MARK: u32 = 5;
/// Space between a mark and its label in pixels.
pub(super) const GAP: u32 = 4;

/// A label of an axis; `at` is the distance from the start of the axis in pixels.
pub(super) struct Tick {
    pub(super) at: u32,
    pub(super) label: String,
}

/// Returns the smallest of 1, 2, 5, 10, 20, .. that divides a range into at most `count` steps.
pub(super) fn round_step(range: u64, count: u64) -> u64 {
    let fits = |step: &u64| range.div_ceil(*step) <= count.max(1);
    let powers = (0..20).map(|k| 10u64.pow(k));
    let steps = powers.flat_map(|power| [1, 2, 5].map(|factor| power.saturating_mul(factor)));
    steps.into_iter().find(fits).unwrap_or(u64::MAX)
}

/// Formats a number with few digits: `1200`, `12k`, `3.5M`.
pub(super) fn short(number: u64) -> String {
    const UNITS: [(u64, &str); 5] =
        [(10u64.pow(18), "E"), (10u64.pow(15), "P"), (10u64.pow(12), "T"), (10u64.pow(9), "G"), (10u64.pow(6), "M")];
    let scaled = |(scale, unit): (u64, &str)| {
        let digits = format!("{:.2}", number as f64 / scale as f64);
        format!("{}{unit}", digits.trim_end_matches('0').trim_end_matches('.'))
    };
    let unit = UNITS.into_iter().find(|(scale, _)| number >= *scale);
    match unit {
        Some(unit) => scaled(unit),
        None if number >= 10_000 => scaled((1000, "k")),
        None => number.to_string(),
    }
}

/// Draws the marks and labels of a vertical axis to the left of an area. With a grid, also draws a
/// line across the area at each mark.
pub(super) fn left_axis(scene: &mut Scene, area: Rectangle, ticks: &[Tick], has_grid: bool) {
    for Tick { at, label } in ticks {
        let (x, y) = (area.x - 1, area.y + at);
        if has_grid {
            scene.rectangle(Rectangle { x: area.x, y, width: area.width, height: 1 }, GRID);
        }
        scene.rectangle(Rectangle { x: x - MARK, y, width: MARK, height: 1 }, FAINT);
        scene.text((x - MARK - GAP, y), Anchor::End, INK, label);
    }
}

/// Draws the marks and labels of a horizontal axis below an area.
pub(super) fn bottom_axis(scene: &mut Scene, area: Rectangle, ticks: &[Tick]) {
    for Tick { at, label } in ticks {
        let (x, y) = (area.x + at, area.y + area.height + 1);
        scene.rectangle(Rectangle { x, y, width: 1, height: MARK }, FAINT);
        scene.text((x, y + MARK + GAP + 8), Anchor::Middle, INK, label);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asserts that steps are round, and that there are few of them.
    #[test]
    fn steps_are_round() {
        let cases = [(0, 1), (1, 1), (5, 1), (6, 2), (14, 5), (34, 10), (1000, 200), (u64::MAX, 5 * 10u64.pow(18))];
        for (range, step) in cases {
            assert_eq!(round_step(range, 5), step, "{range}");
        }
    }

    /// Asserts that long numbers are shortened.
    #[test]
    fn numbers_are_short() {
        let cases = [(0, "0"), (9_999, "9999"), (12_000, "12k"), (12_345, "12.35k"), (200_000_000, "200M")];
        for (number, expected) in cases.into_iter().chain([(u64::MAX, "18.45E"), (1 << 40, "1.1T")]) {
            assert_eq!(short(number), expected);
        }
    }
}
