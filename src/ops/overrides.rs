//! Overrides of failed gates: each names one gate and gives a reason.

use std::collections::BTreeMap;

use crate::error::{Error, ErrorKind, Result};
use crate::plan::{GateStatus, Plan};

/// Puts reasons on failed gates; an override must name a gate that failed.
///
/// # Errors
/// `Refused` for an override without a reason or without a failed gate, the
/// plan's first refusal, `GateFailed` for what is left.
pub fn overridden(plan: &Plan, overrides: &BTreeMap<String, String>) -> Result<Plan> {
    let mut plan = plan.clone();
    for (name, reason) in overrides {
        if reason.trim().is_empty() {
            return Err(Error::new(ErrorKind::Refused, format!("the override of {name} has no reason"))
                .hint("--override GATE=REASON; the reason is kept in the commit."));
        }
        match plan.gates.iter_mut().find(|g| g.name == *name && g.status == GateStatus::Fail) {
            Some(gate) => gate.overridden = Some(reason.trim().to_owned()),
            None => {
                let failed: Vec<&str> = plan.blocking().iter().map(|g| g.name.as_str()).collect();
                return Err(Error::new(ErrorKind::Refused, format!("there is no failed gate {name} to override"))
                    .hint(if failed.is_empty() {
                        "No gate failed.".into()
                    } else {
                        format!("Failed: {}.", failed.join(", "))
                    }));
            }
        }
    }
    plan.settle();
    if let Some(refusal) = plan.refusals.first() {
        return Err(Error::new(refusal.kind, refusal.message.clone()).hint(refusal.hint.clone().unwrap_or_default()));
    }
    let blocking = plan.blocking();
    if let Some(first) = blocking.first() {
        let said: Vec<String> = blocking.iter().map(|g| format!("{}: {}", g.name, g.message)).collect();
        let gates = if said.len() == 1 { "a gate".to_owned() } else { format!("{} gates", said.len()) };
        return Err(Error::new(ErrorKind::GateFailed, format!("{gates} failed: {}", said.join("; ")))
            .hint(format!("Check the source. If it is right: --override {}=REASON, for each of them.", first.name)));
    }
    Ok(plan)
}
