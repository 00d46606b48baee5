//! The contract's invariants, as code: checked on every plan that is made and
//! by every property test.

use super::{Plan, Spec};

/// What is wrong with a plan's numbers; empty for a sound plan.
pub fn violations(plan: &Plan) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut hold = |what: &str, left: u128, right: u128| {
        if left != right {
            wrong.push(format!("{what}: {left} is not {right}"));
        }
    };
    let wide = |n: u64| u128::from(n);
    for p in &plan.partitions {
        hold(
            &format!("{}: after + deleted + moved out = before + inserted + moved in", p.label()),
            wide(p.after) + wide(p.deleted) + wide(p.moved_out),
            wide(p.before) + wide(p.inserted) + wide(p.moved_in),
        );
        if matches!(plan.spec, Spec::Overwrite(_)) && !p.is_only_listed() {
            hold(&format!("{}: after + ignored = source", p.label()), wide(p.after) + wide(p.ignored), wide(p.source));
        }
    }
    let total = |pick: fn(&super::PlanPartition) -> u64| plan.partitions.iter().map(|p| wide(pick(p))).sum::<u128>();
    let r = &plan.rows;
    hold("inserted in total", total(|p| p.inserted), wide(r.inserted));
    hold("deleted in total", total(|p| p.deleted), wide(r.deleted));
    hold("zombies in total", total(|p| p.zombies), wide(r.zombies));
    hold("unchanged in total", total(|p| p.unchanged), wide(r.unchanged));
    hold("updated in total", total(|p| p.updated.unwrap_or(0)), wide(r.updated.unwrap_or(0)));
    hold("moved in", total(|p| p.moved_in), wide(r.moved));
    hold("moved out", total(|p| p.moved_out), wide(r.moved));
    if let (Some(before), Some(after)) = (r.table_before, r.table_after) {
        hold(
            "table after + deleted = before + inserted",
            wide(after) + wide(r.deleted),
            wide(before) + wide(r.inserted),
        );
    }
    if let Spec::Overwrite(_) = plan.spec {
        hold(
            "source = inserted + matched",
            wide(r.source),
            wide(r.inserted) + wide(r.updated.unwrap_or(0)) + wide(r.unchanged) + wide(r.ignored),
        );
        hold("an overwrite leaves no zombie", wide(r.zombies), 0);
    }
    wrong
}
