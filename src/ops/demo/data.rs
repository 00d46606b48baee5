//! The demo's rows. No clock and no randomness: the same on every run.

use std::sync::Arc;

use chrono::{Datelike, NaiveDate, Weekday};
use deltalake::arrow::array::{
    ArrayRef, Date32Array, Decimal128Array, Int32Array, Int64Array, RecordBatch, StringArray,
};
use deltalake::kernel::{DataType, DecimalType, PrimitiveType, StructField};

use crate::error::{Context, ErrorKind, Result};

/// The partition column of the postings.
pub(super) const PERIOD: &str = "fiscal_period";
/// The partition column of the sales.
pub(super) const DAY: &str = "dt";

const COMPANIES: [&str; 4] = ["1000", "2000", "3000", "4000"];
/// The company that the incomplete extract lacks.
const FORGOTTEN: &str = "3000";
const ACCOUNTS: [&str; 5] = ["113100", "140000", "160000", "191100", "792000"];
const TEXTS: [&str; 4] = ["Invoice", "Payment", "Goods receipt", "Clearing"];

/// One row of `gold/working_capital`.
#[derive(Debug, Clone)]
pub(super) struct Document {
    company: &'static str,
    /// 1 to 12
    period: u32,
    number: i64,
    account: &'static str,
    /// hundredths of the currency
    cents: i128,
    day: u32,
    text: Option<&'static str>,
}

/// A document whose other values follow from its number.
fn document(company: &'static str, period: u32, number: i64) -> Document {
    let dice = mix(number as u64);
    let pick = |list: &[&'static str], shift: u32| list[(dice >> shift) as usize % list.len()];
    Document {
        company,
        period,
        number,
        account: pick(&ACCOUNTS, 8),
        cents: i128::from(dice % 900_000) - 200_000,
        day: 1 + (dice >> 16) as u32 % 28,
        // Some postings have no text, so that there are NULLs to look at.
        text: if (dice >> 24).is_multiple_of(7) { None } else { Some(pick(&TEXTS, 32)) },
    }
}

/// The documents of a period as they were first posted. Period 6 is the small
/// one that the tour restates: three documents, 1,400.00 in all.
pub(super) fn documents(period: u32) -> Vec<Document> {
    if period == 6 {
        return vec![june(100, 450), june(101, 250), june(102, 700)];
    }
    let of_company = |(index, company): (usize, &'static str)| {
        let first = i64::from(period) * 10_000 + index as i64 * 1_000;
        let count = 40 + i64::from(period) * 3 + index as i64 * 17;
        (first..first + count).map(move |number| document(company, period, number))
    };
    COMPANIES.into_iter().enumerate().flat_map(of_company).collect()
}

/// Documents that were posted after a period had been written.
pub(super) fn late_documents(period: u32) -> Vec<Document> {
    (0..9).map(|i| document(COMPANIES[0], period, i64::from(period) * 10_000 + 900 + i)).collect()
}

/// Documents that a restatement of a period adds.
pub(super) fn corrections(period: u32) -> Vec<Document> {
    (0..5).map(|i| document(COMPANIES[1], period, i64::from(period) * 10_000 + 1_900 + i)).collect()
}

fn june(number: i64, amount: i128) -> Document {
    Document { account: ACCOUNTS[1], cents: amount * 100, ..document(COMPANIES[0], 6, number) }
}

/// Period 6 as the source restates it: 100 went from 450 to 500, 101 is as it
/// was, 102 is no longer there. The columns come in another order than the
/// table's, which must not matter.
pub(super) fn restatement() -> Result<RecordBatch> {
    let batch = postings([june(100, 500), june(101, 250)])?;
    let last_to_first: Vec<usize> = (0..batch.num_columns()).rev().collect();
    batch.project(&last_to_first).context(ErrorKind::Internal, || "cannot reorder the demo's columns".into())
}

/// Period 9 with one company missing and half of the others' rows.
pub(super) fn incomplete_extract() -> Result<RecordBatch> {
    postings(documents(9).into_iter().filter(|d| d.company != FORGOTTEN && d.number % 2 == 0))
}

pub(super) fn posting_columns() -> Result<Vec<StructField>> {
    Ok(vec![
        StructField::not_null("company_code", DataType::STRING),
        StructField::nullable(PERIOD, DataType::STRING),
        StructField::not_null("doc_number", DataType::LONG),
        StructField::nullable("gl_account", DataType::STRING),
        StructField::nullable("amount", decimal()?),
        StructField::nullable("currency", DataType::STRING),
        StructField::nullable("posting_date", DataType::DATE),
        StructField::nullable("text", DataType::STRING),
    ])
}

/// The rows of documents, in the table's column order.
pub(super) fn postings(documents: impl IntoIterator<Item = Document>) -> Result<RecordBatch> {
    let documents: Vec<Document> = documents.into_iter().collect();
    let period = |d: &Document| format!("2026{:03}", d.period);
    let posted = documents.iter().map(|d| date(2026, d.period, d.day)).map(days_since_epoch);
    batch(vec![
        ("company_code", Arc::new(StringArray::from_iter_values(documents.iter().map(|d| d.company)))),
        (PERIOD, Arc::new(StringArray::from_iter_values(documents.iter().map(period)))),
        ("doc_number", Arc::new(Int64Array::from_iter_values(documents.iter().map(|d| d.number)))),
        ("gl_account", Arc::new(StringArray::from_iter_values(documents.iter().map(|d| d.account)))),
        ("amount", money(documents.iter().map(|d| d.cents))?),
        ("currency", Arc::new(StringArray::from_iter_values(documents.iter().map(|_| "EUR")))),
        ("posting_date", Arc::new(Date32Array::from_iter_values(posted))),
        ("text", Arc::new(documents.iter().map(|d| d.text).collect::<StringArray>())),
    ])
}

const STORES: [&str; 3] = ["Basel", "Köln", "Lyon"];

/// Two months of days without the two that were never loaded.
pub(super) fn sales_days() -> Vec<NaiveDate> {
    let missing = [date(2026, 8, 12), date(2026, 8, 13)];
    let first = date(2026, 7, 3);
    first.iter_days().take(60).filter(|day| !missing.contains(day)).collect()
}

/// Sales of a day: fewer at the weekend, next to none on the day on which a
/// load broke off.
fn products_sold(day: NaiveDate) -> i64 {
    match day.weekday() {
        _ if day == date(2026, 8, 21) => 3,
        Weekday::Sat | Weekday::Sun => 20,
        _ => 50,
    }
}

pub(super) fn sales_columns() -> Result<Vec<StructField>> {
    Ok(vec![
        StructField::nullable(DAY, DataType::DATE),
        StructField::not_null("store", DataType::STRING),
        StructField::not_null("product", DataType::LONG),
        StructField::nullable("quantity", DataType::INTEGER),
        StructField::nullable("revenue", decimal()?),
    ])
}

pub(super) fn sales(days: &[NaiveDate]) -> Result<RecordBatch> {
    let mut rows = Vec::new();
    for day in days {
        for store in STORES {
            for product in 0..products_sold(*day) {
                let dice = mix(u64::from(day.num_days_from_ce() as u32) * 1_000 + product as u64 + store.len() as u64);
                let quantity = 1 + (dice % 12) as i32;
                let cents = i128::from(quantity) * i128::from(199 + dice % 4_800);
                rows.push((days_since_epoch(*day), store, 7_000 + product, quantity, cents));
            }
        }
    }
    batch(vec![
        (DAY, Arc::new(Date32Array::from_iter_values(rows.iter().map(|r| r.0)))),
        ("store", Arc::new(StringArray::from_iter_values(rows.iter().map(|r| r.1)))),
        ("product", Arc::new(Int64Array::from_iter_values(rows.iter().map(|r| r.2)))),
        ("quantity", Arc::new(Int32Array::from_iter_values(rows.iter().map(|r| r.3)))),
        ("revenue", money(rows.iter().map(|r| r.4))?),
    ])
}

fn batch(columns: Vec<(&str, ArrayRef)>) -> Result<RecordBatch> {
    // Nullability follows the data here; the table's own schema is stricter.
    let fields = columns.into_iter().map(|(name, values)| (name, values, true));
    RecordBatch::try_from_iter_with_nullable(fields)
        .context(ErrorKind::Internal, || "cannot put the demo's rows together".into())
}

/// decimal(18,2) from hundredths.
fn money(cents: impl Iterator<Item = i128>) -> Result<ArrayRef> {
    let plain = Decimal128Array::from_iter_values(cents);
    let money =
        plain.with_precision_and_scale(18, 2).context(ErrorKind::Internal, || "decimal(18,2) does not fit".into())?;
    Ok(Arc::new(money))
}

fn decimal() -> Result<DataType> {
    let decimal = DecimalType::try_new(18, 2).context(ErrorKind::Internal, || "decimal(18,2) does not fit".into())?;
    Ok(DataType::Primitive(PrimitiveType::Decimal(decimal)))
}

fn date(year: i32, month: u32, day: u32) -> NaiveDate {
    NaiveDate::from_ymd_opt(year, month, day).expect("the demo's own dates exist")
}

fn days_since_epoch(day: NaiveDate) -> i32 {
    (day - NaiveDate::default()).num_days() as i32
}

/// SplitMix64's finaliser: spreads consecutive numbers over all bits.
fn mix(number: u64) -> u64 {
    let mut x = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
