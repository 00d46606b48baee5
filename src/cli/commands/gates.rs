//! `partwise gates`

use serde_json::{Map, Value as Json, json};

use crate::cli::confirm::confirm_config;
use crate::cli::narrate::say;
use crate::cli::output::Answer;
use crate::cli::output::table::Table;
use crate::cli::{Outcome, Session};
use crate::error::{Error, ErrorKind, Result};
use crate::gate::{self, Gate, Origin, SETTINGS, Setting, Severity, Thresholds, Tuning};
use crate::ops::{At, OpenTable, SavedConfig, save_table_config, table_gates_change};
use crate::plan::kinds::Class;
use crate::table::value::escape_controls;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// A path, a file:// URL, or lake.name from the config
    #[arg(value_name = "TABLE")]
    table: String,
    /// Save a threshold for this table, such as row_count_min_percent=80
    #[arg(long, value_name = "THRESHOLD=NUMBER", value_parser = parse_set)]
    set: Vec<(&'static str, String)>,
    /// Save how bad a gate's failure is for this table: off, warn or fail
    #[arg(long, value_name = "GATE=SEVERITY", value_parser = parse_severity)]
    severity: Vec<(&'static str, Severity)>,
    /// Take what the config says of this table's threshold or gate away
    #[arg(long, value_name = "THRESHOLD|GATE", value_parser = parse_name)]
    reset: Vec<&'static str>,
    /// Do not ask before saving
    #[arg(long)]
    yes: bool,
}

fn parse_set(text: &str) -> std::result::Result<(&'static str, String), String> {
    let (name, number) = text.split_once('=').ok_or("write THRESHOLD=NUMBER")?;
    let setting = find_setting(name.trim())?;
    setting.parse(number)?;
    Ok((setting.name, number.to_owned()))
}

fn parse_severity(text: &str) -> std::result::Result<(&'static str, Severity), String> {
    let (name, word) = text.split_once('=').ok_or("write GATE=off, GATE=warn or GATE=fail")?;
    let gate = find_gate(name.trim())?;
    let word = word.trim();
    let severity = Severity::ALL.into_iter().find(|s| s.as_str() == word);
    Ok((gate.name(), severity.ok_or_else(|| format!("'{word}' is none of off, warn and fail"))?))
}

fn parse_name(text: &str) -> std::result::Result<&'static str, String> {
    let name = text.trim();
    match gate::setting(name) {
        Some(setting) => Ok(setting.name),
        None => find_gate(name).map(Gate::name),
    }
}

fn find_setting(name: &str) -> std::result::Result<&'static Setting, String> {
    gate::setting(name).ok_or_else(|| {
        let all: Vec<&str> = SETTINGS.iter().map(|s| s.name).collect();
        format!("there is no threshold '{name}'; the thresholds are {}", all.join(", "))
    })
}

fn find_gate(name: &str) -> std::result::Result<&'static dyn Gate, String> {
    gate::find(name).ok_or_else(|| {
        let all: Vec<&str> = gate::ALL.iter().map(|g| g.name()).collect();
        format!("there is no gate '{name}'; the gates are {}", all.join(", "))
    })
}

pub async fn run(args: Args, session: &Session) -> Result<Outcome> {
    let table = OpenTable::open(&session.context, &args.table, At::Latest).await?;
    let mut tuning = table.settings.tuning();
    let mut saved = None;
    if !(args.set.is_empty() && args.severity.is_empty() && args.reset.is_empty()) {
        session.context.check_may_write()?;
        change(&mut tuning, &args)?;
        saved = save(session, &table, &tuning, args.yes).await?;
        if let Some(saved) = &saved {
            // The file may have been changed since this program read it.
            let own = saved.config.tables.get(&saved.section).map(|t| t.gates.clone()).unwrap_or_default();
            tuning = Tuning::new(saved.config.gates.clone(), own);
        }
    }
    let thresholds = tuning.thresholds().map_err(usage)?;
    Ok(Outcome::Done(match session.json {
        true => Answer::json(&to_json(&table, &tuning, &thresholds, saved.as_ref()))?,
        false => Answer::text(render(&tuning, &thresholds)),
    }))
}

fn usage(said: String) -> Error {
    Error::new(ErrorKind::Usage, said).hint("partwise gates TABLE shows what holds.")
}

/// What is reset goes first, so that the same call may set it.
fn change(tuning: &mut Tuning, args: &Args) -> Result<()> {
    for name in &args.reset {
        tuning.reset(name);
    }
    for (name, number) in &args.set {
        tuning.set(find_setting(name).map_err(usage)?, number).map_err(usage)?;
    }
    for (name, severity) in &args.severity {
        tuning.set_severity(name, *severity);
    }
    tuning.thresholds().map(drop).map_err(usage)
}

/// Shows what would change in the config, asks, and saves it.
async fn save(session: &Session, table: &OpenTable, tuning: &Tuning, yes: bool) -> Result<Option<SavedConfig>> {
    let change = table_gates_change(&session.context, table, tuning.own())?;
    let file = escape_controls(&change.file.display().to_string());
    if change.is_none() {
        say(&format!("{file} says so already"));
        return Ok(None);
    }
    confirm_config(session, &change, yes).await?;
    let saved = save_table_config(&change)?;
    say(&format!("saved to {file}"));
    Ok(Some(saved))
}

/// Where a severity comes from, for the gates that the config speaks of.
fn spoken_of(tuning: &Tuning, gate: &dyn Gate) -> Option<Origin> {
    Some(tuning.severity_origin(gate.name())).filter(|origin| *origin != Origin::Default)
}

fn render(tuning: &Tuning, thresholds: &Thresholds) -> String {
    let mut gates = Table::default().left("gate");
    for (_, words) in Class::ALL {
        gates = gates.left(words);
    }
    gates = gates.left("");
    for gate in gate::ALL {
        let severities = Class::ALL.iter().map(|(c, _)| gate::severity(*gate, *c, thresholds).as_str().to_owned());
        let note = spoken_of(tuning, *gate).map_or(String::new(), |origin| format!("({})", origin.as_str()));
        gates.push(std::iter::once(gate.name().to_owned()).chain(severities).chain([note]));
    }
    let mut numbers = Table::default().left("threshold").right("value").left("from").left("what it means");
    for setting in SETTINGS {
        let origin = tuning.origin(setting).as_str().to_owned();
        numbers.push([setting.name.to_owned(), setting.shown(thresholds), origin, setting.about.to_owned()]);
    }
    format!("{}\n{}", gates.render(), numbers.render())
}

/// Operations of plans, and the class that each is judged in.
const OPERATIONS: [(&str, Class); 9] = [
    ("overwrite", Class::Replace),
    ("replace-where", Class::Replace),
    ("append", Class::Append),
    ("merge", Class::Merge),
    ("merge-delete", Class::MergeDelete),
    ("repartition", Class::Layout),
    ("optimize", Class::Layout),
    ("restore", Class::Inverse),
    ("undo", Class::Inverse),
];

fn to_json(table: &OpenTable, tuning: &Tuning, thresholds: &Thresholds, saved: Option<&SavedConfig>) -> Json {
    let gates: Vec<Json> = gate::ALL
        .iter()
        .map(|gate| {
            let of = |(operation, class): &(&str, Class)| {
                ((*operation).to_owned(), json!(gate::severity(*gate, *class, thresholds)))
            };
            json!({
                "name": gate.name(),
                "about": gate.about(),
                "severity": OPERATIONS.iter().map(of).collect::<Map<String, Json>>(),
                "from": tuning.severity_origin(gate.name()),
                "thresholds": gate.settings(),
            })
        })
        .collect();
    let numbers: Vec<Json> = SETTINGS
        .iter()
        .map(|setting| {
            json!({
                "name": setting.name,
                "value": number(setting, thresholds),
                "default": number(setting, &Thresholds::default()),
                "from": tuning.origin(setting),
                "about": setting.about,
            })
        })
        .collect();
    let saved = saved.map(|saved| json!({"file": saved.file.display().to_string(), "section": saved.section}));
    json!({"table": table.location, "gates": gates, "thresholds": numbers, "saved": saved})
}

/// An infinite limit has no number in JSON.
fn number(setting: &Setting, thresholds: &Thresholds) -> Json {
    match setting.value(thresholds) {
        gate::settings::Number::Real(number) if number.is_infinite() => json!("inf"),
        gate::settings::Number::Real(number) => json!(number),
        gate::settings::Number::Whole(number) => json!(number),
    }
}
