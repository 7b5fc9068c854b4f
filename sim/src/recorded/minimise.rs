//! Shortens a list as long as it shows the same result (delta debugging: Zeller and Hildebrandt 2002).

/// A list, and the result that it shows.
pub type Shows<T, W> = (Vec<T>, W);

/// Returns the result of a list if it is the wanted one, with the items that were needed. (Some items may be
/// impossible without others.)
pub type Show<'a, T, W> = dyn FnMut(&[T]) -> Option<Shows<T, W>> + 'a;

/// Leaves items out: contiguous groups of decreasing size, and the last items of each kind.
///
/// `kinds` select items that can lose their tail, such as the steps of one client, which have no effect without the
/// earlier ones. Returns `None` if the whole list does not show the result.
///
/// From the list found, no group of a size that was tried can be left out. The result depends only on the arguments.
pub fn minimise<T: Clone, W>(
    whole: &[T],
    kinds: &[&dyn Fn(&T) -> bool],
    shows: &mut Show<'_, T, W>,
) -> Option<Shows<T, W>> {
    minimise_while(whole, kinds, &|| true, shows)
}

/// Like [`minimise`], as long as `goes_on` returns true: then returns the shortest list so far.
pub fn minimise_while<T: Clone, W>(
    whole: &[T],
    kinds: &[&dyn Fn(&T) -> bool],
    goes_on: &dyn Fn() -> bool,
    shows: &mut Show<'_, T, W>,
) -> Option<Shows<T, W>> {
    let best = shows(whole)?;
    let mut minimiser = Minimiser { best, goes_on, shows };
    loop {
        let before = minimiser.best.0.len();
        let mut size = before / 2;
        while size > 0 {
            minimiser.leave_out_groups(size);
            size /= 2;
        }
        kinds.iter().for_each(|is_own| minimiser.leave_out_tails(is_own));
        if minimiser.best.0.len() == before || !goes_on() {
            return Some(minimiser.best);
        }
    }
}

struct Minimiser<'a, 'b, T, W> {
    best: Shows<T, W>,
    goes_on: &'a dyn Fn() -> bool,
    shows: &'a mut Show<'b, T, W>,
}

impl<T: Clone, W> Minimiser<'_, '_, T, W> {
    /// Tries to leave out contiguous groups, from the last to the first.
    fn leave_out_groups(&mut self, size: usize) {
        let mut end = self.best.0.len();
        while end > 0 && (self.goes_on)() {
            let start = end.saturating_sub(size);
            self.try_shorter(&[&self.best.0[..start], &self.best.0[end..]].concat());
            end = start.min(self.best.0.len());
        }
    }

    /// Tries to leave out the last items of a kind, the largest number first.
    fn leave_out_tails(&mut self, is_own: &dyn Fn(&T) -> bool) {
        let mut kept = 0;
        while (self.goes_on)() && kept < self.best.0.iter().filter(|item| is_own(item)).count() {
            let mut seen = 0;
            let is_kept = |item: &&T| {
                seen += usize::from(is_own(item));
                !is_own(item) || seen <= kept
            };
            let without: Vec<T> = self.best.0.iter().filter(is_kept).cloned().collect();
            if !self.try_shorter(&without) {
                kept += 1;
            }
        }
    }

    /// Keeps this list if it shows the same result and needs fewer items.
    fn try_shorter(&mut self, without: &[T]) -> bool {
        let shorter = (self.shows)(without).filter(|(items, _)| items.len() < self.best.0.len());
        let found = shorter.is_some();
        shorter.into_iter().for_each(|shorter| self.best = shorter);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An item is possible only after the one before it.
    fn shows(needed: &[u32], items: &[u32]) -> Option<Shows<u32, usize>> {
        let mut possible: Vec<u32> = Vec::new();
        for item in items {
            if *item == 0 || possible.contains(&(item - 1)) {
                possible.push(*item);
            }
        }
        needed.iter().all(|item| possible.contains(item)).then_some((possible, needed.len()))
    }

    #[test]
    fn only_needed_items_stay() {
        let whole: Vec<u32> = (0..100).collect();
        let (items, what) =
            minimise(&whole, &[], &mut |items| shows(&[3], items)).expect("it shows");
        assert_eq!((items, what), (vec![0, 1, 2, 3], 1));
    }

    #[test]
    fn without_time_nothing_more_is_tried() {
        let (tries, whole) = (std::cell::Cell::new(0), (0..100).collect::<Vec<u32>>());
        let mut shows_all = |items: &[u32]| {
            tries.set(tries.get() + 1);
            shows(&[3], items)
        };
        let goes_on = || tries.get() < 3;
        let (items, _) = minimise_while(&whole, &[], &goes_on, &mut shows_all).expect("it shows");
        assert!(tries.get() == 3 && items.len() < 100 && items.contains(&3), "{items:?}");
    }

    #[test]
    fn a_list_that_shows_nothing_is_not_made_shorter() {
        assert_eq!(minimise(&[1, 2], &[], &mut |items| shows(&[5], items)), None);
    }

    /// 10 and 12 can only be left out together, and 11 between them is needed, so no contiguous group contains just
    /// them.
    #[test]
    fn the_last_of_a_kind_go_though_they_do_not_stand_together() {
        let whole = vec![10, 0, 12, 1, 14, 2];
        let mut shows = |items: &[u32]| {
            let evens = items.iter().filter(|item| **item >= 10).count();
            let small = items.iter().filter(|item| **item < 10).count();
            ((evens == 0 || evens == 3) && small == 3).then(|| (items.to_vec(), ()))
        };
        let is_own = |item: &u32| *item >= 10;
        let alone = minimise(&whole, &[], &mut shows).expect("it shows").0;
        assert_eq!(alone.len(), 6, "groups do not help");
        let both = minimise(&whole, &[&is_own], &mut shows).expect("it shows").0;
        assert_eq!(both, vec![0, 1, 2]);
    }

    /// Two kinds, separated by a third whose items all stay: many items of a kind do not show the result, but fewer
    /// do.
    #[test]
    fn the_first_items_of_each_kind_stay() {
        let whole = vec![10, 20, 30, 11, 21, 31, 12, 22, 32, 13, 23, 33];
        let kinds = [1, 2, 3].map(|kind| move |item: &u32| item / 10 == kind);
        let mut shows = |items: &[u32]| {
            let of = |kind: usize| items.iter().copied().filter(|item| kinds[kind](item)).collect();
            let shown = [vec![10], vec![10, 11, 12, 13]].contains(&of(0))
                && [vec![20, 21], vec![20, 21, 22, 23]].contains(&of(1))
                && of(2) == [30, 31, 32, 33];
            shown.then(|| (items.to_vec(), ()))
        };
        let shorter = minimise(&whole, &[&kinds[0], &kinds[1]], &mut shows).expect("it shows").0;
        assert_eq!(shorter, vec![10, 20, 30, 21, 31, 32, 33]);
    }

    #[test]
    fn each_item_is_tried_and_again_when_others_are_gone_and_with_its_neighbour() {
        let left = |can_go: &dyn Fn(&[u32]) -> bool| {
            let mut shows = |items: &[u32]| can_go(items).then(|| (items.to_vec(), ()));
            minimise(&[0, 1, 2, 3], &[], &mut shows).expect("it shows").0
        };
        for one in 0..4 {
            let others: Vec<u32> = (0..4).filter(|item| *item != one).collect();
            assert_eq!(left(&|items| others.iter().all(|item| items.contains(item))), others);
        }
        // The last one can be left out after the first, which is tried later.
        let is_needed = |items: &[u32]| items.contains(&3) || !items.contains(&0);
        assert_eq!(left(&|items| items.contains(&1) && is_needed(items)), vec![1]);
        assert_eq!(left(&|items| matches!(items, [0, 1] | [0, 1, 2, 3])), vec![0, 1]);
    }
}
