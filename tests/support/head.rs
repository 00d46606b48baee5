//! Protocol and metaData of a fixture: the features that its shape needs.

use std::collections::BTreeSet;

use serde_json::{Map, Value as Json, json};

use super::kinds::Kind;
use super::writer::{FIRST_COMMIT, Shape};

impl Shape {
    /// The protocol and metaData actions of the first commit.
    pub fn head(&self) -> Vec<Json> {
        let mut configuration: Map<String, Json> = self.properties.iter().map(|(k, v)| (k.clone(), json!(v))).collect();
        let mut features = BTreeSet::new();
        if self.mapped {
            features.insert("columnMapping");
            configuration.insert("delta.columnMapping.mode".into(), json!("name"));
            configuration.insert("delta.columnMapping.maxColumnId".into(), json!("400"));
        }
        if self.deletion_vectors {
            features.insert("deletionVectors");
            configuration.insert("delta.enableDeletionVectors".into(), json!("true"));
        }
        if self.columns.iter().any(|c| c.kind == Kind::TimestampNtz) {
            features.insert("timestampNtz");
        }
        let version = self.writer_features().into_iter().map(|(_, version)| version).max();
        let protocol = if features.is_empty() && version == Some(7) {
            let writer: BTreeSet<&str> = self.writer_features().into_iter().map(|(name, _)| name).collect();
            json!({"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": writer})
        } else if features.is_empty() {
            json!({"minReaderVersion": 1, "minWriterVersion": version.unwrap_or(2)})
        } else {
            let writer = features.iter().copied().chain(self.writer_features().into_iter().map(|(name, _)| name));
            let writer: BTreeSet<&str> = writer.collect();
            json!({"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": features, "writerFeatures": writer})
        };
        let metadata = json!({"id": uuid::Uuid::new_v4().to_string(),
            "format": {"provider": "parquet", "options": {}}, "schemaString": self.schema_string(),
            "partitionColumns": self.partition_by, "configuration": configuration, "createdTime": FIRST_COMMIT});
        vec![json!({"protocol": protocol}), json!({"metaData": metadata})]
    }

    /// Features of writers alone that properties and columns switch on, with
    /// the writer version that brought each.
    fn writer_features(&self) -> Vec<(&'static str, u64)> {
        let on = |name: &str| self.properties.iter().any(|(key, value)| key == name && value == "true");
        let mut features = Vec::new();
        if on("delta.appendOnly") {
            features.push(("appendOnly", 2));
        }
        if !self.required.is_empty() {
            features.push(("invariants", 2));
        }
        if self.properties.iter().any(|(key, _)| key.starts_with("delta.constraints.")) {
            features.push(("checkConstraints", 3));
        }
        if on("delta.enableChangeDataFeed") {
            features.push(("changeDataFeed", 4));
        }
        for (key, feature, version) in [
            ("delta.generationExpression", "generatedColumns", 4),
            ("delta.invariants", "invariants", 2),
            ("CURRENT_DEFAULT", "allowColumnDefaults", 7),
        ] {
            if self.marks.iter().any(|(_, own, _)| own == key) {
                features.push((feature, version));
            }
        }
        if on("delta.enableInCommitTimestamps") {
            features.push(("inCommitTimestamp", 7));
        }
        features
    }
}
