//! The demo lake: a gold table of postings, two staged extracts and a table of
//! daily sales.
//!
//! Everything in it is made through the writers of the `deltalake` crate and not
//! through our own committer, so that the demo is also a table that somebody
//! else wrote. The rows are the same on every run; only the times move along, so
//! that the history reads as if it had grown over the past weeks.

mod data;
mod writer;

use std::path::{Path, PathBuf};

use crate::error::{Context, Error, ErrorKind, Result};
use writer::{DemoTable, Job, write_parquet};

/// Where the demo's pieces are.
#[derive(Debug, Clone)]
pub struct DemoLake {
    pub root: PathBuf,
    /// The gold table of postings, partitioned by `fiscal_period`.
    pub gold: PathBuf,
    /// Daily sales, partitioned by date, with gaps.
    pub daily_sales: PathBuf,
    /// The full restatement of period 2026006.
    pub restatement: PathBuf,
    /// An incomplete extract that the gates stop.
    pub incomplete: PathBuf,
    /// The config with the tables' keys and grain columns.
    pub config: PathBuf,
}

impl DemoLake {
    fn at(root: PathBuf) -> Self {
        Self {
            gold: root.join("gold/working_capital"),
            daily_sales: root.join("gold/daily_sales"),
            restatement: root.join("staging/2026006.parquet"),
            incomplete: root.join("staging/2026009_incomplete.parquet"),
            config: root.join("partwise.toml"),
            root,
        }
    }
}

/// Makes the lake in a folder that is empty or does not exist.
///
/// # Errors
/// `Refused` where the folder has something in it or is no folder, `Storage`
/// where it cannot be written.
pub async fn make(dir: &Path) -> Result<DemoLake> {
    let lake = DemoLake::at(prepare_folder(dir)?);
    let config = config_text(&lake)?;
    make_dir(&lake.root.join("staging"))?;

    write_parquet(&lake.restatement, &data::restatement()?)?;
    write_parquet(&lake.incomplete, &data::incomplete_extract()?)?;
    make_working_capital(&lake.gold).await?;
    make_daily_sales(&lake.daily_sales).await?;
    // The config comes last: where it is, the lake is whole.
    std::fs::write(&lake.config, config)
        .context(ErrorKind::Storage, || format!("cannot write {}", lake.config.display()))?;
    Ok(lake)
}

/// Makes the lake in a new folder of the platform's temporary folder, which
/// stays there: people want to look at it again.
///
/// # Errors
/// `Storage`.
pub async fn make_temporary() -> Result<DemoLake> {
    let dir = tempfile::Builder::new()
        .prefix("partwise-demo-")
        .tempdir()
        .context(ErrorKind::Storage, || "cannot make a temporary folder".into())?;
    make(&dir.keep()).await
}

/// Three months a commit, then what a year-end close does: one period restated,
/// late postings appended to the last two.
async fn make_working_capital(path: &Path) -> Result<()> {
    let mut table =
        DemoTable::create(path, data::posting_columns(), data::PERIOD, &Job::hours_ago("platform", 24 * 24)).await?;
    for (quarter, days_ago) in [(1..=3, 23), (4..=6, 16), (7..=9, 9), (10..=12, 4)] {
        let rows = data::postings(quarter.flat_map(data::documents))?;
        table.append(&rows, &Job::hours_ago("close", days_ago * 24 - 3)).await?;
    }
    let restated = data::postings([data::documents(10), data::corrections(10)].concat())?;
    table.replace_partitions(&restated, "fiscal_period = '2026010'", &Job::hours_ago("close", 2 * 24 - 5)).await?;
    let late = data::postings([data::late_documents(11), data::late_documents(12)].concat())?;
    table.append(&late, &Job::hours_ago("late-postings", 2)).await
}

async fn make_daily_sales(path: &Path) -> Result<()> {
    let mut table =
        DemoTable::create(path, data::sales_columns(), data::DAY, &Job::hours_ago("platform", 20 * 24)).await?;
    for (decade, days) in data::sales_days().chunks(10).enumerate() {
        let days_ago = 19 - 3 * decade as i64;
        table.append(&data::sales(days)?, &Job::hours_ago("nightly", days_ago * 24 + 4)).await?;
    }
    Ok(())
}

/// The folder as an absolute path, made where it does not exist.
fn prepare_folder(dir: &Path) -> Result<PathBuf> {
    let refused = |what: &str| {
        Error::new(ErrorKind::Refused, format!("{} {what}; the demo lake needs an empty folder", dir.display()))
            .hint("Name another folder with --dir, or leave --dir away for a temporary one.")
    };
    if dir.exists() && !dir.is_dir() {
        return Err(refused("is not a folder"));
    }
    make_dir(dir)?;
    let reading = || format!("cannot read {}", dir.display());
    let mut entries = std::fs::read_dir(dir).context(ErrorKind::Storage, reading)?;
    if entries.next().is_some() {
        return Err(refused("is not empty"));
    }
    dir.canonicalize().context(ErrorKind::Storage, reading)
}

fn make_dir(dir: &Path) -> Result<()> {
    std::fs::create_dir_all(dir).context(ErrorKind::Storage, || format!("cannot make the folder {}", dir.display()))
}

/// The config that goes with the lake.
fn config_text(lake: &DemoLake) -> Result<String> {
    let gold = lake.root.join("gold");
    let gold = gold.to_str().ok_or_else(|| {
        Error::new(ErrorKind::Refused, format!("{} is not UTF-8, so no config can name it", lake.root.display()))
            .hint("Name another folder with --dir.")
    })?;
    Ok(format!(
        r#"# The demo lake's settings. Use them with: partwise --config THIS_FILE

[lakes]
gold = {gold}

[tables.working_capital]
# One document of one company is one row.
key = ["company_code", "doc_number"]
measures = ["amount"]
# No company may vanish from a period.
grain = ["company_code"]

[tables.daily_sales]
key = ["dt", "store", "product"]
measures = ["revenue"]
grain = ["store"]
"#,
        gold = toml::Value::from(gold),
    ))
}
