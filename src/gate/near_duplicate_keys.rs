//! Keys that are the same to a person and not to a join.

use super::{Evidence, Finding, Gate, Severity, Thresholds};
use crate::gate::words::rows;
use crate::plan::kinds::Class;
use crate::plan::{GateStatus, Plan};

pub struct NearDuplicateKeys;

impl Gate for NearDuplicateKeys {
    fn name(&self) -> &'static str {
        "near-duplicate-keys"
    }

    fn about(&self) -> &'static str {
        "no key of the source differs from one of the table only in case, blanks, leading zeros or notation; no key column is a float"
    }

    fn severity(&self, class: Class) -> Severity {
        match class {
            Class::Replace | Class::Append | Class::Merge | Class::MergeDelete => Severity::Warn,
            Class::Layout | Class::Inverse => Severity::Off,
        }
    }

    fn judge(&self, plan: &Plan, evidence: &Evidence, _: &Thresholds) -> Option<Finding> {
        if plan.key.is_empty() {
            return None;
        }
        let mut said = Vec::new();
        let near = evidence.near_duplicates.as_ref();
        if let Some(near) = near.filter(|n| n.rows > 0) {
            let examples = match near.examples.as_slice() {
                [] => String::new(),
                some => format!(", such as {}", some.join("; ")),
            };
            let s = if near.rows == 1 { "has a key" } else { "have keys" };
            said.push(format!(
                "{} of the source {s} that the table has in another spelling{examples}",
                rows(near.rows)
            ));
        }
        if !evidence.float_keys.is_empty() {
            let (s, names) =
                (if evidence.float_keys.len() == 1 { "is a float" } else { "are floats" }, &evidence.float_keys);
            said.push(format!("{} {s}: computed values that look equal may differ", names.join(", ")));
        }
        let threshold = "0 rows, no float key";
        let observed = near.map(|n| n.rows);
        if said.is_empty() {
            // Where nobody looked, there is nothing to say.
            return near.map(|_| Finding::pass(observed, threshold, "no key is there in another spelling"));
        }
        Some(Finding::pass(observed, threshold, said.join("; ")).of(GateStatus::Fail))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{merge, says, silent};
    use super::*;
    use crate::gate::evidence::NearDuplicates;

    #[test]
    fn spellings_and_floats_are_said() {
        let examples = vec!["\"A1\" and \"a1 \"".to_owned()];
        let near = Evidence { near_duplicates: Some(NearDuplicates { rows: 2, examples }), ..Evidence::default() };
        says(
            &NearDuplicateKeys,
            &merge(),
            &near,
            GateStatus::Fail,
            "2 rows of the source have keys that the table has in another spelling, such as \"A1\"",
        );
        let float = Evidence { float_keys: vec!["rate".into()], ..Evidence::default() };
        says(&NearDuplicateKeys, &merge(), &float, GateStatus::Fail, "rate is a float");
    }

    #[test]
    fn it_only_warns() {
        let float = Evidence { float_keys: vec!["rate".into()], ..Evidence::default() };
        let results = super::super::judge(&merge(), &float, &Thresholds::default());
        let status = results.iter().find(|g| g.name == "near-duplicate-keys").map(|g| g.status);
        assert_eq!(status, Some(GateStatus::Warn));
    }

    #[test]
    fn exact_keys_pass_and_unsearched_ones_are_not_judged() {
        let none = Evidence { near_duplicates: Some(NearDuplicates::default()), ..Evidence::default() };
        says(&NearDuplicateKeys, &merge(), &none, GateStatus::Pass, "no key");
        assert!(silent(&NearDuplicateKeys, &merge(), &Evidence::default()));
    }
}
