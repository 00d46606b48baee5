//! `partwise demo`

use std::path::PathBuf;

use serde_json::json;

use crate::cli::output::Answer;
use crate::cli::{Outcome, Session};
use crate::config::Config;
use crate::error::Result;
use crate::ops;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Where to make it: a new or empty folder [default: a new temporary folder]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Only make it, and print where it is
    #[arg(long)]
    no_tui: bool,
}

pub async fn run(args: Args, session: &Session) -> Result<Outcome> {
    let lake = match &args.dir {
        Some(dir) => ops::demo::make(dir).await?,
        None => ops::demo::make_temporary().await?,
    };
    if session.json {
        let object = json!({
            "root": lake.root, "gold": lake.gold, "restatement": lake.restatement,
            "incomplete": lake.incomplete, "config": lake.config,
        });
        return Ok(Outcome::Done(Answer::json(&object)?));
    }
    if !args.no_tui {
        let config = Config::load(Some(&lake.config))?;
        let context = ops::Context::new(config, session.context.read_only);
        return Ok(Outcome::Open { context, targets: vec![lake.root.display().to_string()] });
    }
    let (root, gold, config) = (lake.root.display(), lake.gold.display(), lake.config.display());
    Ok(Outcome::Done(Answer::text(format!(
        "demo lake  {root}\n\
         table      {gold}\n\
         delivered  {restatement}\n\
         too little {incomplete}\n\n\
         Try:\n  \
           partwise {root} --config {config}\n  \
           partwise compare {gold} --source {restatement} --config {config}\n  \
           partwise plan overwrite {gold} --source {incomplete} --config {config}\n",
        restatement = lake.restatement.display(),
        incomplete = lake.incomplete.display(),
    ))))
}
