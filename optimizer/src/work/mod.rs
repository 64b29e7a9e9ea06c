//! The cost model: kinds of events, their prices, and the caches.

pub(crate) mod caches;
pub(crate) mod cost;
mod events;

pub use events::{Event, Work};
