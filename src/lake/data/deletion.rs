//! Deletion vectors (protocol, "Deletion Vector Format").

use roaring::RoaringTreemap;

use crate::error::{Error, ErrorKind, Result};
use crate::table::DeletionVector;

/// Begins every serialised bitmap, little-endian.
const MAGIC: u32 = 1_681_511_377;
/// A UUID in Z85.
const ENCODED_UUID: usize = 20;
/// The first byte of a deletion vector file is its format's version.
const FIRST_OFFSET: i64 = 1;

/// Where a deletion vector's file is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DvPath {
    /// Below the table's folder, decoded.
    Relative(String),
    /// A path or URI, as the log has it.
    Absolute(String),
}

/// The file to fetch; `None` for a vector that is inline.
///
/// # Errors
/// `BadDataFile` for a descriptor that the protocol does not allow.
pub fn dv_location(dv: &DeletionVector) -> Result<Option<DvPath>> {
    let text = &dv.path_or_inline_dv;
    match dv.storage_type.as_str() {
        "i" => Ok(None),
        "p" => Ok(Some(DvPath::Absolute(text.clone()))),
        "u" => {
            let at = text.len().checked_sub(ENCODED_UUID).filter(|_| text.is_ascii());
            let at = at.ok_or_else(|| bad(dv, "its path does not end in a UUID"))?;
            let (prefix, encoded) = text.split_at(at);
            let id = z85::decode(encoded)
                .ok()
                .and_then(|bytes| uuid::Uuid::from_slice(&bytes).ok())
                .ok_or_else(|| bad(dv, "its path does not end in a UUID"))?;
            let name = format!("deletion_vector_{id}.bin");
            Ok(Some(DvPath::Relative(if prefix.is_empty() { name } else { format!("{prefix}/{name}") })))
        }
        other => Err(bad(dv, &format!("its storage type '{other}' is not i, u or p"))),
    }
}

/// The physical row numbers that a deletion vector hides. `file_bytes`: the
/// whole file at [`dv_location`], not used for inline vectors.
///
/// # Errors
/// `BadDataFile` where size, checksum, format or cardinality is wrong.
pub fn decode_deletion_vector(dv: &DeletionVector, file_bytes: Option<&[u8]>) -> Result<RoaringTreemap> {
    let size = usize::try_from(dv.size_in_bytes).map_err(|_| bad(dv, "its size is negative"))?;
    let inline;
    let data = if dv.storage_type == "i" {
        inline = z85::decode(&dv.path_or_inline_dv).map_err(|e| bad(dv, &format!("it is not Z85: {e}")))?;
        // Z85 pads to four bytes.
        inline.get(..size).ok_or_else(|| bad(dv, "it is shorter than its size"))?
    } else {
        let bytes = file_bytes.ok_or_else(|| bad(dv, "its file was not read"))?;
        stored(dv, bytes, size)?
    };
    let (magic, bitmap) = data.split_first_chunk::<4>().ok_or_else(|| bad(dv, "it is cut off"))?;
    if u32::from_le_bytes(*magic) != MAGIC {
        return Err(bad(dv, "it is not in the portable bitmap format"));
    }
    let rows = RoaringTreemap::deserialize_from(bitmap).map_err(|e| bad(dv, &format!("its bitmap is damaged: {e}")))?;
    if i64::try_from(rows.len()) != Ok(dv.cardinality) {
        return Err(bad(dv, &format!("it hides {} rows where the log says {}", rows.len(), dv.cardinality)));
    }
    Ok(rows)
}

/// The bitmap's bytes inside a deletion vector file: size, data, checksum.
fn stored<'a>(dv: &DeletionVector, file: &'a [u8], size: usize) -> Result<&'a [u8]> {
    let cut_off = || bad(dv, "its file is cut off");
    let offset = usize::try_from(dv.offset.unwrap_or(FIRST_OFFSET)).map_err(|_| bad(dv, "its offset is negative"))?;
    let rest = file.get(offset..).ok_or_else(cut_off)?;
    let (stored_size, rest) = rest.split_first_chunk::<4>().ok_or_else(cut_off)?;
    if usize::try_from(u32::from_be_bytes(*stored_size)) != Ok(size) {
        return Err(bad(dv, "the size in its file is not the size in the log"));
    }
    let (data, rest) = rest.split_at_checked(size).ok_or_else(cut_off)?;
    let (checksum, _) = rest.split_first_chunk::<4>().ok_or_else(cut_off)?;
    if u32::from_be_bytes(*checksum) != crc32(data) {
        return Err(bad(dv, "its checksum does not match"));
    }
    Ok(data)
}

/// CRC-32 as in zlib.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0u32, |mut crc, byte| {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xEDB8_8320 & (crc & 1).wrapping_neg());
        }
        crc
    })
}

fn bad(dv: &DeletionVector, why: &str) -> Error {
    Error::new(ErrorKind::BadDataFile, format!("the deletion vector '{}' cannot be read: {why}", dv.unique_id()))
        .hint("Without it, deleted rows would come back; the table's files are damaged.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inline(text: &str, size: i64, cardinality: i64) -> DeletionVector {
        DeletionVector {
            storage_type: "i".into(),
            path_or_inline_dv: text.into(),
            offset: None,
            size_in_bytes: size,
            cardinality,
        }
    }

    const TWO_ROWS: &str = "^Bg9^0rr910000000000iXQKl0rr91000315c8Xg00062";

    #[test]
    fn an_inline_vector_is_decoded() {
        let dv = inline(TWO_ROWS, 36, 2);
        assert_eq!(dv_location(&dv).unwrap(), None);
        assert_eq!(decode_deletion_vector(&dv, None).unwrap().iter().collect::<Vec<_>>(), [0, 2]);
    }

    #[test]
    fn a_vector_that_lies_is_refused() {
        for dv in [inline(TWO_ROWS, 36, 3), inline(TWO_ROWS, 37, 2), inline(TWO_ROWS, 20, 2), inline("00000", 4, 0)] {
            assert_eq!(decode_deletion_vector(&dv, None).unwrap_err().kind, ErrorKind::BadDataFile);
        }
    }

    #[test]
    fn a_stored_vector_is_checked_byte_by_byte() {
        let rows: RoaringTreemap = [1, 5, 5_000_000_000].into_iter().collect();
        let mut data = MAGIC.to_le_bytes().to_vec();
        rows.serialize_into(&mut data).unwrap();
        let mut file = vec![1];
        file.extend(u32::try_from(data.len()).unwrap().to_be_bytes());
        file.extend(&data);
        file.extend(crc32(&data).to_be_bytes());
        let dv = DeletionVector {
            storage_type: "u".into(),
            path_or_inline_dv: "ab^-aqEH.-t@S}K{vb[*k^".into(),
            offset: Some(1),
            size_in_bytes: i64::try_from(data.len()).unwrap(),
            cardinality: 3,
        };
        let path = "ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin";
        assert_eq!(dv_location(&dv).unwrap(), Some(DvPath::Relative(path.into())));
        assert_eq!(decode_deletion_vector(&dv, Some(&file)).unwrap(), rows);
        for cut in 0..file.len() {
            assert!(decode_deletion_vector(&dv, Some(&file[..cut])).is_err(), "cut at {cut}");
        }
        for at in 1..file.len() {
            let mut flipped = file.clone();
            flipped[at] ^= 1;
            assert!(decode_deletion_vector(&dv, Some(&flipped)).is_err(), "flipped at {at}");
        }
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
    }
}
