//! Ratings of items by users, with skewed activity and popularity, and preferences of low rank.

use super::distribution::DefaultValues;
use super::random::{AliasTable, Random, power_law};
use super::{Draw, DrawContext, Generator, RandomStream, check_shape};
use crate::content::{Content, element_count};
use crate::error::{Count, Fault};
use crate::values::Values;

/// A matrix of ratings, users by items. The `k`-th most active user gives a number of ratings
/// proportional to `k^-user_skew`, but at most one for each item. Items are drawn without
/// repetition, the `k`-th most popular with probability proportional to `k^-item_skew`. Users and
/// items are in random order.
///
/// Values: `u . v + noise`, where `u` and `v` are vectors of `rank` normally distributed numbers,
/// scaled so that `u . v` has deviation 1. With `stars`, the values are spread over the range from
/// 1 to `stars`, rounded and clamped.
///
/// Sources: the model is that of R. Salakhutdinov and A. Mnih, "Probabilistic Matrix
/// Factorization", NIPS 2007, section 2. Items are drawn successively without replacement. If a
/// bounded number of attempts does not give enough items, the equivalent method of P. S. Efraimidis
/// and P. G. Spirakis, "Weighted Random Sampling with a Reservoir", Information Processing Letters
/// 97 (2006), draws the rest.
#[derive(Clone, PartialEq, Debug)]
pub struct Ratings {
    /// The number of users.
    pub users: u64,
    /// The number of items.
    pub items: u64,
    /// The number of ratings.
    pub ratings: u64,
    /// The rank of the matrix without noise.
    pub rank: u32,
    /// The deviation of the noise.
    pub noise: f64,
    /// The skew of the activity of users; 0 for equal activity.
    pub user_skew: f64,
    /// The skew of the popularity of items; 0 for equal popularity.
    pub item_skew: f64,
    /// The best rating if ratings are integers that start at 1; `None` for real numbers.
    pub stars: Option<u32>,
}

impl Ratings {
    /// Returns real-valued ratings of rank 10, with noise 0.5 and skews of 0.8.
    pub fn new(users: u64, items: u64, ratings: u64) -> Ratings {
        Ratings { users, items, ratings, rank: 10, noise: 0.5, user_skew: 0.8, item_skew: 0.8, stars: None }
    }

    fn check(&self, ctx: &DrawContext<'_>) -> Result<(), Fault> {
        check_shape(&[self.users, self.items])?;
        for (quantity, size) in [("the number of users", self.users), ("the number of items", self.items)] {
            let limit = u32::MAX.into();
            if size > limit {
                return Err(Fault::TooLarge { quantity, size: Count(Some(size)), limit });
            }
        }
        let limit = element_count(&[self.users, self.items]).expect("a product of two numbers of 32 bits");
        if self.ratings > limit {
            return Err(Fault::TooLarge { quantity: "the number of ratings", size: Count(Some(self.ratings)), limit });
        }
        for (quantity, skew) in [("a skew of users", self.user_skew), ("a skew of items", self.item_skew)] {
            if !(0.0..=8.0).contains(&skew) {
                return Err(Fault::malformed(format!("{quantity} from 0 to 8"), skew.to_string()));
            }
        }
        if !(0.0..=1e100).contains(&self.noise) {
            return Err(Fault::malformed("a deviation of the noise between 0 and 1e100", self.noise.to_string()));
        }
        if self.stars.is_some_and(|s| s < 2) {
            return Err(Fault::malformed("at least 2 stars", self.stars.unwrap_or(0).to_string()));
        }
        ctx.check_entries(3, Some(self.ratings))?;
        // The memory of factors, weights and permutations.
        ctx.check_bytes("users and items", Some(self.users + self.items), 8 * u64::from(self.rank) + 48)
    }

    /// Returns the number of ratings of each user, the most active user first. The numbers follow a
    /// power law, are at most the number of items, and add up to the number of ratings.
    fn counts(&self) -> Vec<u64> {
        let weights = power_law(self.users, self.user_skew);
        let mut remaining = self.ratings;
        let mut remaining_weight: f64 = weights.iter().sum();
        let mut counts = Vec::with_capacity(weights.len());
        for weight in &weights {
            // A user whose share exceeds one rating per item rates all items, and the excess passes
            // to the other users.
            let remaining_users = (weights.len() - counts.len()) as u64;
            let share = libm::round(remaining as f64 * (weight / remaining_weight).min(1.0)) as u64;
            let min_count = remaining.saturating_sub((remaining_users - 1) * self.items);
            let count = share.clamp(min_count, self.items.max(min_count)).min(remaining);
            counts.push(count);
            remaining -= count;
            remaining_weight = (remaining_weight - weight).max(f64::MIN_POSITIVE);
        }
        counts
    }
}

/// Sampler of sets of items by their weights, without replacement.
struct ItemSampler {
    weights: Vec<f64>,
    table: Option<AliasTable>,
    /// The user for whom the table last drew each item, counted from 1; 0 if there is none.
    last_user: Vec<u32>,
}

impl ItemSampler {
    fn draw(&mut self, user: u32, count: usize, random: &mut Random) -> Vec<u64> {
        let mut drawn = Vec::with_capacity(count);
        if let Some(table) = &self.table {
            // With skewed weights, most attempts draw the same items again. The bound on the
            // attempts keeps their time linear in `count`.
            for _ in 0..8 * count {
                if drawn.len() == count {
                    break;
                }
                let item = table.draw(random);
                if self.last_user[item] != user {
                    self.last_user[item] = user;
                    drawn.push(item as u64);
                }
            }
        }
        if drawn.len() < count {
            let remaining = (0..self.weights.len()).filter(|&item| self.last_user[item] != user);
            // Each item draws an exponentially distributed time with its weight as the rate. The
            // items with the smallest times are selected.
            let mut keys: Vec<(f64, u64)> =
                remaining.map(|item| (-libm::log(1.0 - random.unit()) / self.weights[item], item as u64)).collect();
            let missing = count - drawn.len();
            if missing < keys.len() {
                keys.select_nth_unstable_by(missing, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            }
            drawn.extend(keys[..missing].iter().map(|key| key.1));
        }
        drawn
    }
}

impl Generator for Ratings {
    fn name(&self) -> &'static str {
        "ratings"
    }
}

impl Draw for Ratings {
    fn draw(&self, ctx: &mut DrawContext<'_>) -> Result<Content, Fault> {
        self.check(ctx)?;
        let mut random = ctx.random(RandomStream::Coordinates);
        let (user_order, item_order) = (random.permutation(self.users), random.permutation(self.items));
        let counts = self.counts();
        // The number of ratings of each user, in the final order of the users.
        let mut active = vec![0; counts.len()];
        user_order.iter().zip(&counts).for_each(|(&user, &count)| active[user as usize] = count);
        let weights = power_law(self.items, self.item_skew);
        let table = (!weights.is_empty()).then(|| AliasTable::new(&weights));
        let mut items = ItemSampler { last_user: vec![0; weights.len()], weights, table };
        let (mut rows, mut columns) = (Vec::new(), Vec::new());
        for (user, &count) in active.iter().enumerate() {
            ctx.report("users", user as u64, self.users);
            let mut rated = items.draw(user as u32 + 1, count as usize, &mut random);
            rated.iter_mut().for_each(|item| *item = item_order[*item as usize]);
            rated.sort_unstable();
            rows.extend(std::iter::repeat_n(user as u64, rated.len()));
            columns.extend(rated);
        }
        let values = self.values(ctx, &rows, &columns);
        ctx.triples(vec![self.users, self.items], vec![rows, columns], DefaultValues::Values(Values::F64(values)))
    }
}

impl Ratings {
    fn values(&self, ctx: &mut DrawContext<'_>, rows: &[u64], columns: &[u64]) -> Vec<f64> {
        let rank = self.rank as usize;
        let mut random = ctx.random(RandomStream::Parameters);
        let mut factors = |n: u64| -> Vec<f64> { (0..n as usize * rank).map(|_| random.normal()).collect() };
        let (u, v) = (factors(self.users), factors(self.items));
        let mut random = ctx.random(RandomStream::Values);
        let scale = 1.0 / libm::sqrt(f64::from(self.rank.max(1)));
        let value = |(&i, &j): (&u64, &u64)| {
            let (u, v) = (&u[i as usize * rank..][..rank], &v[j as usize * rank..][..rank]);
            let score = u.iter().zip(v).map(|(a, b)| a * b).sum::<f64>() * scale;
            let score = if self.noise == 0.0 { score } else { score + self.noise * random.normal() };
            match self.stars {
                None => score,
                Some(stars) => {
                    let best = f64::from(stars);
                    // Two deviations to either side reach the extreme ratings.
                    libm::round((best + 1.0) / 2.0 + score * (best - 1.0) / 4.0).clamp(1.0, best)
                }
            }
        };
        rows.iter().zip(columns).map(value).collect()
    }
}
