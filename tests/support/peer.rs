//! Another reader of Delta tables, to compare with.

use std::path::Path;
use std::sync::Arc;

use deltalake::arrow::array::AsArray;
use deltalake::arrow::datatypes::Int64Type;
use deltalake::datafusion::prelude::SessionContext;

use super::road::block_on;

/// Live rows of a table as the engine's own reader counts them.
pub fn count_rows(folder: &Path) -> Result<u64, String> {
    let folder = folder.canonicalize().map_err(|e| e.to_string())?;
    let url = url::Url::from_directory_path(&folder).map_err(|()| "no URL")?;
    block_on(async {
        let table = deltalake::open_table(url).await.map_err(|e| e.to_string())?;
        let provider = table.table_provider().build().await.map_err(|e| e.to_string())?;
        let session = SessionContext::new();
        session.register_table("t", Arc::new(provider)).map_err(|e| e.to_string())?;
        let frame = session.sql("SELECT count(*) FROM t").await.map_err(|e| e.to_string())?;
        let batches = frame.collect().await.map_err(|e| e.to_string())?;
        let count = batches[0].column(0).as_primitive::<Int64Type>().value(0);
        u64::try_from(count).map_err(|e| e.to_string())
    })
}
