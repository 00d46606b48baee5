//! Planning a switch of partition columns.

use super::super::breakers::breakers;
use super::super::browse::OpenTable;
use super::super::context::Context;
use super::super::layouts::{FileCosts, physical_rows};
use super::super::numbers::blank;
use super::super::prepare::names;
use super::super::refusals::table_refusals;
use super::{estimated, files_after, fill, has_empty, job, judge, target, target_file_size};
use crate::engine::local::relayout::{Counted, count};
use crate::engine::local::whatif::Grouping;
use crate::error::{Error, ErrorKind, Result};
use crate::plan::layouts::{ByColumn, LayoutBy};
use crate::plan::relayout::{AddedColumn, Order, Shape};
use crate::plan::repartition::{Repartition, Undone};
use crate::plan::{Change, Layout, Plan, Refusal, Spec};
use crate::predicate::{RowExpr, Side};
use crate::progress::Progress;
use crate::table::schema::PrimitiveType;
use crate::table::{DataType, Field, Metadata};

/// The layout that a table should get.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RepartitionRequest {
    /// Columns of the table and expressions; none for no partitions.
    /// The order of rows is [`Self::order`]'s.
    pub by: LayoutBy,
    /// Columns of expressions are ordinary ones, which other writers must supply.
    pub plain_column: bool,
    pub files_per_partition: Option<u32>,
    /// bytes
    pub target_file_size: Option<u64>,
    pub order: Order,
    /// Only for an undo: the switch that is taken back.
    pub undoes: Option<Undone>,
}

/// Plans a switch of partition columns by one exact pass over the columns that
/// decide it. A refusal is a blocked plan that names it, not an error.
///
/// # Errors
/// `Usage` for columns and expressions that do not fit the table; whatever
/// keeps it from being read.
pub async fn prepare_repartition(
    _context: &Context,
    table: &OpenTable,
    request: &RepartitionRequest,
    progress: &Progress,
) -> Result<Plan> {
    table.protocol().check_rows()?;
    let metadata = table.metadata();
    let (columns, added) = columns(table, request)?;
    let shape = match request.files_per_partition {
        Some(files) => Shape::FilesPerPartition(files),
        None => Shape::TargetBytes(target_file_size(metadata, request.target_file_size)),
    };
    let order = match &request.order {
        Order::None => Order::None,
        Order::Columns(given) => Order::Columns(names(table, given)?),
        Order::ZOrder(given) => Order::ZOrder(names(table, given)?),
    };
    let asks_for_more = request.files_per_partition.is_some() || request.target_file_size.is_some();
    let already = columns == metadata.partition_columns && order == Order::None && !asks_for_more;
    let spec = Spec::Repartition(Repartition {
        from: metadata.partition_columns.clone(),
        by: columns.clone(),
        protocol: target::raised(table.protocol(), &added),
        added,
        shape,
        order,
        estimate: None,
        breakers: Vec::new(),
        undoes: request.undoes.clone(),
    });
    let mut plan = blank(table, spec);
    plan.partition_columns = columns;
    plan.refusals = table_refusals(table, &plan.spec);
    plan.refusals.extend(layout_refusals(metadata, &plan));
    let Change::Layout(layout) = plan.spec.lower() else {
        return Err(Error::new(ErrorKind::Internal, "a repartition is no layout"));
    };
    if !plan.refusals.is_empty() {
        plan.compared = false;
        plan.settle();
        return Ok(plan);
    }
    let live = table.files(progress).await?;
    let after = target::metadata(metadata, &layout.partition_by, &layout.added, &plan.id)?;
    let rewritten = if already { Vec::new() } else { live.clone() };
    let counted = count(job(table, table.snapshot(), &layout, after, rewritten.clone())?, progress).await?;
    plan.refusals.extend(empty_strings(metadata, &plan, &counted));
    let files = files_after(shape, &counted);
    let partitions = counted.tuples.len() as u64;
    fill(&mut plan, &live, &rewritten, &counted, &Layout { partitions, files });
    if already {
        plan.layout.after = plan.layout.before;
        plan.findings.push("the table has these partition columns already; nothing is to be done".into());
    } else {
        say(&mut plan, table, &live)?;
        let rows = physical_rows(table, &live, progress).await?;
        let costs = FileCosts::read(table, &live, &rows, progress).await?;
        let cost = costs.under(metadata, &Grouping::new(&request.by, &metadata.schema)?).await?;
        // What other writers do today may destroy rows on the new layout.
        let breakers = breakers(table, &request.by, progress).await?;
        plan.findings.extend(breakers.iter().map(|breaker| {
            let mark = if breaker.danger { "DANGER: " } else { "" };
            format!("{mark}{}", breaker.line())
        }));
        if let Spec::Repartition(repartition) = &mut plan.spec {
            repartition.breakers = breakers;
            repartition.estimate = Some(estimated(&cost, shape, &counted));
        }
    }
    judge(&mut plan, table)?;
    Ok(plan)
}

/// The partition columns that are asked for, and those that have to be added.
fn columns(table: &OpenTable, request: &RepartitionRequest) -> Result<(Vec<String>, Vec<AddedColumn>)> {
    let usage = |what: String| Error::new(ErrorKind::Usage, what);
    let (mut columns, mut added): (Vec<String>, Vec<AddedColumn>) = (Vec::new(), Vec::new());
    for ByColumn { name, expression: text } in &request.by.columns {
        let column = match text {
            None => names(table, std::slice::from_ref(name))?.remove(0),
            Some(text) => {
                added.push(expression(table, text, name.clone(), !request.plain_column)?);
                name.clone()
            }
        };
        if columns.iter().any(|c| c.eq_ignore_ascii_case(&column)) {
            return Err(usage(format!("--by names {column} twice")));
        }
        columns.push(column);
    }
    Ok((columns, added))
}

fn expression(table: &OpenTable, text: &str, name: String, generated: bool) -> Result<AddedColumn> {
    let schema = &table.metadata().schema;
    let usage = |what: String| Error::new(ErrorKind::Usage, what);
    if let Some(field) = schema.find(&name) {
        return Err(
            usage(format!("the table has a column {} already", field.name)).hint("Choose another name after AS.")
        );
    }
    if name.contains([' ', ',', ';', '{', '}', '(', ')', '\n', '\t', '='])
        && table.metadata().column_mapping().is_none()
    {
        return Err(usage(format!("'{name}' is no name for a column of a table without column mapping"))
            .hint("Use letters, digits and _."));
    }
    let parsed = RowExpr::parse(text)?;
    if !parsed.columns(Side::Source).is_empty() || !parsed.columns(Side::Target).is_empty() {
        return Err(usage(format!("`{text}` names its columns with an alias")).hint("Write the bare names."));
    }
    if !parsed.is_pinned() {
        return Err(usage(format!("`{text}` depends on when it is computed")).hint("Use columns of the table only."));
    }
    let bound = super::bound(text, schema)?;
    if bound.columns().is_empty() {
        return Err(usage(format!("`{text}` names no column, so every row would be in one partition")));
    }
    let DataType::Primitive(data_type) = bound.data_type() else {
        return Err(usage(format!("`{text}` is a {}, which is no partition value", bound.data_type())));
    };
    Ok(AddedColumn { name, expression: parsed.text().to_owned(), data_type: data_type.to_string(), generated })
}

/// What of the new layout Delta cannot hold.
fn layout_refusals(metadata: &Metadata, plan: &Plan) -> Vec<Refusal> {
    let mut refusals = Vec::new();
    let mut say = |message: String, hint: &str| {
        let hint = Some(hint.to_owned());
        refusals.push(Refusal { kind: ErrorKind::UnsupportedFeature, message, hint });
    };
    for name in &plan.partition_columns {
        match metadata.schema.field(name).map(|f| &f.data_type) {
            Some(DataType::Primitive(PrimitiveType::Binary)) => {
                say(format!("the column {name} is binary"), "Binary partition values have no safe text in the log.");
            }
            Some(
                nested @ (DataType::Struct(_) | DataType::Array { .. } | DataType::Map { .. } | DataType::Variant),
            ) => {
                say(format!("the column {name} is a {nested}"), "Delta partitions by plain columns only.");
            }
            Some(DataType::Primitive(_)) | None => {}
        }
    }
    let data = |name: &&str| !plan.partition_columns.iter().any(|c| c == name);
    if metadata.schema.names().filter(data).count() == 0 && !plan.partition_columns.is_empty() {
        say(
            "no column would be left for the data files".into(),
            "Delta wants at least one that is no partition column.",
        );
    }
    if let Spec::Repartition(r) = &plan.spec {
        for name in r.order.columns() {
            if plan.partition_columns.contains(name) {
                say(
                    format!("{name} is a partition column: all rows of a partition have the same value"),
                    "Sort by other columns.",
                );
            } else if metadata.schema.field(name).is_some_and(|f| f.data_type.is_nested()) {
                say(format!("the column {name} has no order"), "Sort by plain columns.");
            }
        }
    }
    refusals
}

/// In a partition column the empty string is read as NULL (protocol, "Partition
/// Value Serialization"), so a row that has it would change.
fn empty_strings(metadata: &Metadata, plan: &Plan, counted: &Counted) -> Option<Refusal> {
    let becomes = |name: &String| !metadata.partition_columns.contains(name);
    let places: Vec<usize> =
        (0..plan.partition_columns.len()).filter(|i| becomes(&plan.partition_columns[*i])).collect();
    let rows: u64 = counted.tuples.iter().filter(|t| has_empty(&t.values, &places)).map(|t| t.rows).sum();
    let named: Vec<&str> = places.iter().map(|i| plan.partition_columns[*i].as_str()).collect();
    (rows > 0).then(|| Refusal {
        kind: ErrorKind::Refused,
        message: format!(
            "{rows} rows have the empty string in {}; as a partition value it would be read as NULL",
            named.join(", ")
        ),
        hint: Some("Set them to NULL or to another text first, or partition by other columns.".into()),
    })
}

/// What changes besides files, and what a person should know.
///
/// # Errors
/// `Usage` for an expression that does not fit the table.
fn say(plan: &mut Plan, table: &OpenTable, live: &[crate::table::DataFile]) -> Result<()> {
    let Spec::Repartition(r) = &plan.spec else { return Ok(()) };
    let list = |columns: &[String]| if columns.is_empty() { "none".to_owned() } else { columns.join(", ") };
    if r.from != r.by {
        plan.metadata_changes.push(format!("partition columns: {} → {}", list(&r.from), list(&r.by)));
    }
    for added in &r.added {
        let kind = if added.generated { "generated column" } else { "column" };
        let after = format!("{kind} {} {} AS {}", added.name, added.data_type, added.expression);
        plan.metadata_changes.push(format!("{after} is added"));
        if !added.generated {
            plan.findings.push(format!("other writers must supply {} themselves from now on", added.name));
        }
        // Spark takes apart an instant in the time zone of its session.
        let schema = &table.metadata().schema;
        let is_instant = |index: &usize| {
            matches!(schema.fields.get(*index).and_then(Field::primitive), Some(PrimitiveType::Timestamp))
        };
        if super::bound(&added.expression, schema)?.columns().iter().any(|(_, index)| is_instant(index)) {
            plan.findings.push(format!(
                "{} is computed in UTC; Spark computes it in the session's time zone: set spark.sql.session.timeZone to UTC for writers",
                added.name
            ));
        }
    }
    if let Some(protocol) = &r.protocol {
        plan.metadata_changes.push(target::raised_words(table.protocol(), protocol));
    }
    let leaving: Vec<usize> = (0..r.from.len()).filter(|i| !r.by.contains(&r.from[*i])).collect();
    let empty = live.iter().filter(|f| has_empty(&f.partition, &leaving)).count();
    if empty > 0 {
        plan.findings.push(format!(
            "{empty} files have the empty string as a partition value, which readers show as NULL; their rows get NULL"
        ));
    }
    if r.from != r.by {
        plan.findings.push("readers that stream this table stop at the change of its partition columns".into());
    }
    Ok(())
}
