//! The demo lake is what the README's tour says.

use std::path::Path;
use std::time::SystemTime;

use partwise::config::Config;
use partwise::error::ErrorKind;
use partwise::ops::demo::{self, DemoLake};
use partwise::ops::{At, Comparison, Context, OpenTable, Prepared, SourceRequest, Strategy, compare, prepare};
use partwise::plan::{Effect, GateStatus, Verdict};
use partwise::progress::Progress;
use serde_json::json;

struct Demo {
    lake: DemoLake,
    context: Context,
    // The folders live as long as the test.
    _dir: tempfile::TempDir,
}

impl Demo {
    async fn make() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let lake = demo::make(&dir.path().join("lake")).await.unwrap();
        let config = Config::load(Some(&lake.config)).unwrap();
        let context = Context { state_dir: dir.path().join("state"), ..Context::new(config, false) };
        Demo { lake, context, _dir: dir }
    }

    async fn gold(&self) -> OpenTable {
        OpenTable::open(&self.context, self.lake.gold.to_str().unwrap(), At::Latest).await.unwrap()
    }

    fn request(&self, source: &Path) -> SourceRequest {
        // The key comes from the demo's config.
        SourceRequest { source: source.to_str().unwrap().into(), ..SourceRequest::default() }
    }

    async fn compare(&self, source: &Path) -> Comparison {
        compare(&self.context, &self.gold().await, &self.request(source), &Progress::default()).await.unwrap()
    }

    async fn overwrite(&self, source: &Path) -> Prepared {
        let (table, request) = (self.gold().await, self.request(source));
        prepare(&self.context, &table, &request, Strategy::Overwrite, &Progress::default()).await.unwrap()
    }
}

fn commits(table: &Path) -> Vec<(String, SystemTime)> {
    let mut commits: Vec<_> = std::fs::read_dir(table.join("_delta_log"))
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().extension().is_some_and(|e| e == "json"))
        .map(|entry| (entry.file_name().into_string().unwrap(), entry.metadata().unwrap().modified().unwrap()))
        .collect();
    commits.sort();
    commits
}

/// Rows by partition value, by the `deltalake` crate's own count.
async fn rows_by_partition(table: &Path) -> Vec<(String, i64)> {
    use deltalake::arrow::array::{AsArray, StringArray};
    use deltalake::arrow::datatypes::Int64Type;

    let table = deltalake::open_table(url::Url::from_directory_path(table).unwrap()).await.unwrap();
    let column = table.snapshot().unwrap().metadata().partition_columns()[0].clone();
    let session = deltalake::datafusion::prelude::SessionContext::new();
    session.register_table("t", table.table_provider().await.unwrap()).unwrap();
    let sql = format!("SELECT CAST({column} AS VARCHAR) AS p, count(*) AS n FROM t GROUP BY 1 ORDER BY 1");
    let batches = session.sql(&sql).await.unwrap().collect().await.unwrap();
    let mut rows = Vec::new();
    for batch in batches {
        let names =
            deltalake::arrow::compute::cast(batch.column(0), &deltalake::arrow::datatypes::DataType::Utf8).unwrap();
        let names: &StringArray = names.as_string();
        let counts = batch.column(1).as_primitive::<Int64Type>();
        rows.extend(names.iter().zip(counts).map(|(p, n)| (p.unwrap().to_owned(), n.unwrap())));
    }
    rows
}

#[tokio::test]
async fn the_lake_has_what_the_tour_needs() {
    let demo = Demo::make().await;
    let postings = rows_by_partition(&demo.lake.gold).await;
    let periods: Vec<&str> = postings.iter().map(|(p, _)| p.as_str()).collect();
    assert_eq!(periods.len(), 12);
    assert_eq!((periods[0], periods[11]), ("2026001", "2026012"));
    for (period, rows) in &postings {
        assert!(if period == "2026006" { *rows == 3 } else { (200..1_000).contains(rows) }, "{period}: {rows}");
    }

    let days = rows_by_partition(&demo.lake.daily_sales).await;
    assert_eq!(days.len(), 58);
    assert!(!days.iter().any(|(day, _)| day == "2026-08-12" || day == "2026-08-13"));
    assert_eq!(days.iter().find(|(day, _)| day == "2026-08-21").unwrap().1, 9);
}

#[tokio::test]
async fn the_history_reads_as_if_it_had_grown() {
    let demo = Demo::make().await;
    for (table, versions) in [(&demo.lake.gold, 7), (&demo.lake.daily_sales, 7)] {
        let commits = commits(table);
        assert_eq!(commits.len(), versions);
        assert!(commits.is_sorted_by(|a, b| a.1 < b.1), "{commits:?}");
        let span = commits[versions - 1].1.duration_since(commits[0].1).unwrap();
        assert!(span.as_secs() > 10 * 86_400);
        assert!(commits[versions - 1].1 < SystemTime::now());
    }
}

#[tokio::test]
async fn a_folder_with_something_in_it_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("mine.txt"), "keep me").unwrap();
    let error = demo::make(dir.path()).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Refused);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);

    let error = demo::make(&dir.path().join("mine.txt")).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Refused);
}

#[tokio::test]
async fn an_empty_folder_is_taken() {
    let dir = tempfile::tempdir().unwrap();
    let lake = demo::make(dir.path()).await.unwrap();
    assert_eq!(lake.root, dir.path().canonicalize().unwrap());
}

#[tokio::test]
async fn the_restatement_would_leave_a_zombie_to_a_merge() {
    let demo = Demo::make().await;
    let comparison = demo.compare(&demo.lake.restatement).await;
    let plan = |name: &str| &comparison.strategies.iter().find(|(n, _)| *n == name).unwrap().1.plan;

    let merge = comparison.strategies[0].1.plan.clone();
    let rows = merge.rows;
    assert_eq!((rows.inserted, rows.updated, rows.unchanged, rows.deleted, rows.zombies), (0, Some(1), 1, 0, 1));
    assert_eq!(merge.partitions[0].measures["amount"], json!({"before": "1400", "after": "1450"}));

    let overwrite = plan("overwrite");
    let rows = overwrite.rows;
    assert_eq!((rows.inserted, rows.updated, rows.unchanged, rows.deleted, rows.zombies), (0, Some(1), 1, 1, 0));
    assert_eq!((rows.slice_before, rows.slice_after), (3, 2));
    assert_eq!(overwrite.partitions[0].measures["amount"], json!({"before": "1400", "after": "750"}));
    assert_eq!(overwrite.verdict, Verdict::Ready, "{:?}", overwrite.gates);

    let recommended = &comparison.strategies[comparison.recommended.unwrap()];
    assert_eq!(recommended.0, "overwrite");

    let zombies = comparison.strategies[0].1.rows.as_ref().unwrap().page(Effect::Zombies, 0, 10).await.unwrap();
    assert_eq!(zombies.total, 1);
    let document = zombies.columns.iter().position(|c| c == "doc_number").unwrap();
    let old = zombies.rows[0].old.as_ref().unwrap();
    assert_eq!(old[document].to_string(), "102");
    assert_eq!(zombies.rows[0].last_version, Some(2));
}

#[tokio::test]
async fn the_incomplete_extract_is_stopped() {
    let demo = Demo::make().await;
    let before = commits(&demo.lake.gold);
    let plan = demo.overwrite(&demo.lake.incomplete).await.plan;
    assert_eq!(plan.verdict, Verdict::Blocked);
    let failed: Vec<&str> =
        plan.gates.iter().filter(|g| g.status == GateStatus::Fail).map(|g| g.name.as_str()).collect();
    assert_eq!(failed, ["row-count", "vanished-group"]);
    let vanished = plan.gates.iter().find(|g| g.name == "vanished-group").unwrap();
    assert!(vanished.message.contains("company_code=3000"), "{}", vanished.message);
    assert_eq!(commits(&demo.lake.gold), before);
}
