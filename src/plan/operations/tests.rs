use super::*;

fn field(name: &str, data_type: PrimitiveType) -> Field {
    Field { name: name.into(), data_type: DataType::Primitive(data_type), nullable: true, metadata: Default::default() }
}

fn seen(value: Value, rows: u64) -> Observed {
    Observed { value, companion: None, rows }
}

fn texts(name: &str, values: &[&str]) -> Option<Recognised> {
    let observed: Vec<Observed> = values.iter().map(|v| seen(Value::String((*v).into()), 1)).collect();
    recognise(&field(name, PrimitiveType::String), &observed, true)
}

#[track_caller]
fn proposed(found: Option<Recognised>) -> OperationProposal {
    match found {
        Some(Recognised::Proposal(proposal)) => proposal,
        other => panic!("no proposal: {other:?}"),
    }
}

#[track_caller]
fn refused(found: Option<Recognised>) -> String {
    match found {
        Some(Recognised::NotUnderstood { because }) => because,
        other => panic!("it was not refused: {other:?}"),
    }
}

#[track_caller]
fn means(name: &str, pairs: &[(&str, RowMeaning)]) {
    let values: Vec<&str> = pairs.iter().map(|(code, _)| *code).collect();
    let proposal = proposed(texts(name, &values));
    for (code, meaning) in pairs {
        let found = proposal.operations.codes.iter().find(|(c, _)| c.as_deref() == Some(*code));
        assert_eq!(found.map(|(_, m)| *m), Some(*meaning), "{name}: {code:?}");
    }
    assert!(proposal.because.contains(name), "{}", proposal.because);
}

#[test]
fn codes_of_common_feeds() {
    use RowMeaning::{BeforeImage, Delete, Upsert};
    means("ROCANCEL", &[("", Upsert), (" ", Upsert), ("N", Upsert), ("X", BeforeImage), ("D", Delete), ("R", Delete)]);
    means("ODQ_CHANGEMODE", &[("C", Upsert), ("U", Upsert), ("D", Delete)]);
    means("__op", &[("c", Upsert), ("r", Upsert), ("u", Upsert), ("d", Delete)]);
    means("op_type", &[("I", Upsert), ("U", Upsert), ("D", Delete)]);
    means("header__change_oper", &[("I", Upsert), ("U", Upsert), ("B", BeforeImage), ("D", Delete)]);
    means("operation", &[("insert", Upsert), ("UPDATE", Upsert), ("upsert", Upsert), ("Delete", Delete)]);
    means("change_type", &[("UPDATE-INSERT", Upsert), ("UPDATE-DELETE", BeforeImage)]);
    means("row_kind", &[("+I", Upsert), ("-U", BeforeImage), ("+U", Upsert), ("-D", Delete)]);
    means(
        "_change_type",
        &[("insert", Upsert), ("update_preimage", BeforeImage), ("update_postimage", Upsert), ("delete", Delete)],
    );
    means("deleted_flag", &[("N", Upsert), ("Y", Delete)]);
}

#[test]
fn null_is_a_code_of_its_own() {
    let observed = [seen(Value::Null, 3), seen(Value::String(String::new()), 2), seen(Value::String("D".into()), 1)];
    let proposal = proposed(recognise(&field("0RECORDMODE", PrimitiveType::String), &observed, true));
    let codes =
        [(None, RowMeaning::Upsert), (Some(String::new()), RowMeaning::Upsert), (Some("D".into()), RowMeaning::Delete)];
    assert_eq!(proposal.operations.codes, codes);
    assert_eq!(proposal.rows, MeaningRows { upserts: 5, deletes: 1, before_images: 0 });
    let nothing = recognise(&field("operation", PrimitiveType::String), &[seen(Value::Null, 9)], true);
    assert!(refused(nothing).contains("NULL in every row"));
}

#[test]
fn one_value_that_is_not_understood_is_named() {
    assert!(refused(texts("0RECORDMODE", &["", "A"])).contains("additive image"));
    assert!(refused(texts("op", &["c", "t"])).contains("'t' is not known"));
    assert!(refused(texts("operation", &["insert", "Blinddarm"])).contains("'Blinddarm'"));
    let many = recognise(&field("op", PrimitiveType::String), &[seen(Value::String("c".into()), 1)], false);
    assert!(refused(many).contains("1000"));
}

#[test]
fn numbers_booleans_and_times() {
    let sql_server: Vec<Observed> = (1..=4).map(|i| seen(Value::Int(i), 1)).collect();
    let proposal = proposed(recognise(&field("__$operation", PrimitiveType::Integer), &sql_server, true));
    assert_eq!(proposal.rows, MeaningRows { upserts: 2, deletes: 1, before_images: 1 });

    let flags = [seen(Value::Boolean(false), 90), seen(Value::Boolean(true), 10)];
    let proposal = proposed(recognise(&field("_fivetran_deleted", PrimitiveType::Boolean), &flags, true));
    assert!(proposal.soft_delete);
    assert_eq!(proposal.rows.deletes, 10);
    assert_eq!(proposal.operations.codes[1], (Some("true".into()), RowMeaning::Delete));

    let times = [seen(Value::Null, 7), seen(Value::Timestamp(1), 3)];
    let proposal = proposed(recognise(&field("_ab_cdc_deleted_at", PrimitiveType::Timestamp), &times, false));
    let mut view = SourceView::default();
    proposal.apply(&mut view);
    assert_eq!(view.columns[0].0, "_ab_cdc_deleted_at_operation");
    assert!(view.columns[0].1.contains("s.`_ab_cdc_deleted_at` IS NULL"));
    assert_eq!(view.operations.map(|o| o.column), Some("_ab_cdc_deleted_at_operation".into()));
    assert_eq!(proposal.rows, MeaningRows { upserts: 7, deletes: 3, before_images: 0 });
}

#[test]
fn a_companion_that_turns_a_code_round_forbids_a_proposal() {
    let with = |code: &str, count: i64| Observed {
        value: Value::String(code.into()),
        companion: Some(Value::Int(count)),
        rows: 1,
    };
    let name = field("ODQ_CHANGEMODE", PrimitiveType::String);
    assert_eq!(companion("ODQ_CHANGEMODE", ["a", "ODQ_ENTITYCNTR"].into_iter()), Some("ODQ_ENTITYCNTR"));
    let plain = [with("C", 1), with("U", 0), with("D", -1)];
    assert_eq!(proposed(recognise(&name, &plain, true)).rows.deletes, 1);
    let images = [with("U", -1), with("U", 1)];
    assert!(refused(recognise(&name, &images, true)).contains("'U' means two things"));
}

#[test]
fn other_columns_are_no_candidates() {
    assert_eq!(texts("status", &["I", "U", "D"]), None);
    assert!(!is_candidate(&field("op", PrimitiveType::Double)));
    assert!(!is_candidate(&field("operations", PrimitiveType::String)));
    assert_eq!(texts("op", &[]), None);
}

#[test]
fn what_a_person_writes() {
    assert_eq!(parse("op"), Ok(OperationColumn { column: "op".into(), codes: vec![] }));
    let OperationColumn { column, codes } =
        parse("ROCANCEL='':upsert,NULL:upsert,' ':upsert,X:before-image,a:b:delete").unwrap();
    assert_eq!(column, "ROCANCEL");
    let want = [
        (Some(String::new()), RowMeaning::Upsert),
        (None, RowMeaning::Upsert),
        (Some(" ".into()), RowMeaning::Upsert),
        (Some("X".into()), RowMeaning::BeforeImage),
        (Some("a:b".into()), RowMeaning::Delete),
    ];
    assert_eq!(codes, want);
    for wrong in ["", "=a:upsert", "op=a", "op=a:b", "op=a:delete,a:upsert"] {
        assert!(parse(wrong).is_err(), "{wrong}");
    }
}
