//! Rows of a bucket, key by key.

use super::keys::HashIndex;
use super::rows::Rows;

/// Rows of a bucket in the order of their identity: (first bits of it, row).
pub struct Sorted(Vec<(u64, u32)>);

impl Sorted {
    pub fn new(rows: &Rows) -> Sorted {
        let mut order: Vec<(u64, u32)> =
            (0..rows.len()).map(|row| ((rows.identity(row) >> 64) as u64, row as u32)).collect();
        order.sort_unstable();
        // Different keys with the same first 64 bits are told apart by the rest.
        let mut from = 0;
        while from < order.len() {
            let mut to = from + 1;
            while to < order.len() && order[to].0 == order[from].0 {
                to += 1;
            }
            if to - from > 1 {
                order[from..to].sort_unstable_by_key(|(_, row)| (rows.identity(*row as usize), *row));
            }
            from = to;
        }
        Sorted(order)
    }

    pub fn groups<'a>(&'a self, rows: &'a Rows) -> impl Iterator<Item = &'a [(u64, u32)]> {
        self.0.chunk_by(|a, b| a.0 == b.0 && rows.identity(a.1 as usize) == rows.identity(b.1 as usize))
    }
}

/// Pairs rows for which both functions agree, in their order; what stays open
/// is left in the lists.
pub fn pass(
    open_s: &mut Vec<usize>,
    open_t: &mut Vec<usize>,
    pairs: &mut Vec<(usize, usize)>,
    of_source: impl Fn(usize) -> u128,
    of_target: impl Fn(usize) -> u128,
) {
    if open_s.is_empty() || open_t.is_empty() {
        return;
    }
    // value → places in `open_s`, the first one last
    let mut places: HashIndex<Vec<usize>> = HashIndex::default();
    for (at, s) in open_s.iter().enumerate().rev() {
        places.entry(of_source(*s)).or_default().push(at);
    }
    let mut used = vec![false; open_s.len()];
    open_t.retain(|t| match places.get_mut(&of_target(*t)).and_then(Vec::pop) {
        Some(at) => {
            used[at] = true;
            pairs.push((*t, open_s[at]));
            false
        }
        None => true,
    });
    let mut used = used.into_iter();
    open_s.retain(|_| !used.next().unwrap_or(false));
}
