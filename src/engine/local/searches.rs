//! Which searches outside the slice a job's rules need.

use std::collections::BTreeSet;

use super::elsewhere::{Elsewhere, Search};
use super::side::Roles;
use crate::plan::{Reach, RowRule};

/// The searches outside the slice that a job's rules need, each made once.
pub struct Searches {
    pub all: Vec<Search>,
    /// Per rule: the search for rows that it reaches, and the one to report.
    of_rule: Vec<Option<(usize, usize)>>,
}

impl Searches {
    pub fn new(rules: &[RowRule], roles: &Roles) -> Searches {
        let mut searches = Searches { all: Vec::new(), of_rule: Vec::new() };
        let bound = roles.partition.iter().any(|c| roles.key.contains(c));
        for rule in rules {
            let searched = !roles.key.is_empty() && rule.reach != Reach::Table;
            let of_rule = searched.then(|| {
                let by_key = searches.number(Search::by_key(roles, rule.pairing));
                // Rows that a partition column in a join's key hides are doubled.
                let hidden = rule.reach == Reach::Key && bound;
                let report =
                    if hidden { searches.number(Search::by_stripped_key(roles, rule.pairing)) } else { by_key };
                (by_key, report)
            });
            searches.of_rule.push(of_rule);
        }
        searches
    }

    fn number(&mut self, search: Search) -> usize {
        self.all.iter().position(|s| *s == search).unwrap_or_else(|| {
            self.all.push(search);
            self.all.len() - 1
        })
    }

    pub fn reached(&self, rules: &[RowRule], found: &[Elsewhere]) -> BTreeSet<usize> {
        let reaching = rules.iter().zip(&self.of_rule).filter(|(rule, _)| rule.reach == Reach::Key);
        reaching
            .filter_map(|(_, of_rule)| *of_rule)
            .flat_map(|(by_key, _)| found[by_key].files.iter().copied())
            .collect()
    }

    pub fn reported(&self, rule: usize, found: &[Elsewhere]) -> Option<Elsewhere> {
        self.of_rule[rule].map(|(_, report)| found[report].clone())
    }
}
