//! Many partitions and unequal ones, with hardly any memory.

use partwise::config::Config;
use partwise::ops::RepartitionRequest;
use partwise::plan::GateStatus;
use partwise::plan::relayout::Order;

use super::{by, switch};
use crate::support::replay::replay;
use crate::support::road::gate;
use crate::support::{Bench, Kind, Row, Shape, i, rows_of, s, sorted};

/// A bench whose rows go to the disk beyond so many bytes.
pub fn cramped(bytes: usize) -> Bench {
    let mut config = Config::default();
    config.engine.rows_in_memory = Some(bytes);
    Bench::with_config(config)
}

#[test]
fn twenty_thousand_partitions() {
    let full = std::env::var_os("PARTWISE_FULL").is_some_and(|v| v == "1");
    let partitions = if full { 20_000 } else { 2_000 };
    let bench = cramped(1 << 20);
    let rows: Vec<Row> = (0..3 * partitions).map(|n| vec![i(n * 7919 % partitions), s(&format!("row {n}"))]).collect();
    let table = bench.table(Shape::new(&[("p", Kind::Integer), ("t", Kind::String)], &[]), &rows);
    let (plan, report) = switch(&bench, &table.path, &by(&["p"]));
    assert_eq!(plan.layout.after.partitions, partitions as u64);
    let status = gate(&plan, "too-many-partitions").status;
    assert_eq!(status, if full { GateStatus::Fail } else { GateStatus::Pass });
    assert_eq!(gate(&plan, "small-files").status, GateStatus::Warn);
    assert_eq!(report.files_added, partitions as u64, "one file each");
    assert_eq!(rows_of(&table.path), sorted(rows));
}

#[test]
fn one_partition_with_nearly_all_rows() {
    let rows: Vec<Row> = (0..200_000_i64)
        .map(|n| {
            vec![i(if n % 100 == 0 { n / 100 % 20 + 1 } else { 0 }), i(n * 7919 % 200_003), s(&format!("t{}", n % 7))]
        })
        .collect();
    let shape = Shape::new(&[("p", Kind::Integer), ("n", Kind::Integer), ("t", Kind::String)], &[]);
    let orders =
        [Order::None, Order::Columns(vec!["n".into(), "t".into()]), Order::ZOrder(vec!["n".into(), "t".into()])];
    for order in orders {
        let bench = cramped(256 << 10);
        let table = bench.table(shape.clone(), &rows);
        let request = RepartitionRequest { order: order.clone(), ..by(&["p"]) };
        let (plan, report) = switch(&bench, &table.path, &request);
        assert_eq!(gate(&plan, "skew").status, GateStatus::Warn, "a warning before");
        assert_eq!((plan.layout.after.partitions, report.files_added), (21, 21));
        assert_eq!(plan.partitions[0].after, 198_000);
        assert_eq!(rows_of(&table.path), sorted(rows.clone()), "{order:?}");
        let live = replay(&table.path).unwrap().live;
        assert_eq!(live.len(), 21);
        if let Order::Columns(_) = order {
            let giant = live.values().find(|add| add["partitionValues"]["p"] == "0").expect("the large partition");
            let numbers = first_column(&table.path.join(giant["path"].as_str().unwrap()));
            assert!(numbers.len() == 198_000 && numbers.is_sorted());
        }
    }
}

/// The first column of a Parquet file.
fn first_column(path: &std::path::Path) -> Vec<i32> {
    use deltalake::arrow::array::AsArray;
    use deltalake::arrow::datatypes::Int32Type;
    use deltalake::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

    let reader = ParquetRecordBatchReaderBuilder::try_new(std::fs::File::open(path).unwrap()).unwrap();
    let batches = reader.build().unwrap();
    batches.flat_map(|b| b.unwrap().column(0).as_primitive::<Int32Type>().values().to_vec()).collect()
}
