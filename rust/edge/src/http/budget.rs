//! What the bodies of all requests take together.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

pub struct Budget {
    limit: usize,
    held: AtomicUsize,
}

impl Budget {
    pub fn new(limit: usize) -> Arc<Self> {
        Arc::new(Budget { limit, held: AtomicUsize::new(0) })
    }
    pub fn limit(&self) -> usize {
        self.limit
    }
    pub fn share(self: &Arc<Self>) -> Share {
        Share { budget: self.clone(), bytes: 0 }
    }
}

/// One request's part, which it gives back when it ends.
pub struct Share {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Share {
    /// Whether there was room for so many bytes more.
    pub fn grow(&mut self, bytes: usize) -> bool {
        let grown = |held: usize| held.checked_add(bytes).filter(|sum| *sum <= self.budget.limit);
        let held = &self.budget.held;
        let has_room = held.fetch_update(Ordering::AcqRel, Ordering::Acquire, grown).is_ok();
        if has_room {
            self.bytes += bytes;
        }
        has_room
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.budget.held.fetch_sub(self.bytes, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_fill_the_budget_and_give_back() {
        let budget = Budget::new(10);
        let (mut first, mut second) = (budget.share(), budget.share());
        assert!(first.grow(6));
        assert!(second.grow(4));
        assert!(!second.grow(1));
        assert!(!first.grow(usize::MAX));
        drop(first);
        assert!(second.grow(6));
        assert!(!budget.share().grow(1));
        assert!(budget.share().grow(0));
    }
}
