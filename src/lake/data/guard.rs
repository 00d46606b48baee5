//! What a Parquet file claims about itself, checked before it is believed.
//!
//! The decoder reserves memory for counts that a damaged footer or page header
//! states, and a failed allocation ends the program: no panic that could be
//! caught. So the few numbers that it reserves by are compared with the bytes
//! that are there, by a walk through Thrift's compact protocol.

/// Structures in footers nest about 8 deep.
const MAX_DEPTH: usize = 32;
/// Columns nest so deep, at most; the decoder recurses once for each level.
const MAX_SCHEMA_DEPTH: usize = 100;
/// Pages are a megabyte by default, and seldom larger than this decoded.
const LARGE_PAGE: u64 = 64 << 20;
/// More than this times its bytes no codec makes of a page of real rows.
const MAX_RATIO: u64 = 2048;

/// Why a walk ended early.
#[derive(Debug)]
enum Stop {
    /// A length or count that the bytes cannot hold, in words.
    Lie(String),
    /// No Thrift that this walk knows; the decoder will say what is wrong.
    Strange,
}

type Walked<T> = Result<T, Stop>;

/// A position in bytes of Thrift's compact protocol.
struct Walk<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Walk<'_> {
    fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    fn byte(&mut self) -> Walked<u8> {
        let byte = *self.bytes.get(self.at).ok_or(Stop::Strange)?;
        self.at += 1;
        Ok(byte)
    }

    fn pass(&mut self, bytes: u64) -> Walked<()> {
        match usize::try_from(bytes) {
            Ok(bytes) if bytes <= self.left() => {
                self.at += bytes;
                Ok(())
            }
            _ => Err(Stop::Lie(format!("a value of {bytes} bytes where {} are left", self.left()))),
        }
    }

    fn unsigned(&mut self) -> Walked<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Stop::Strange)
    }

    fn signed(&mut self) -> Walked<i64> {
        let raw = self.unsigned()?;
        // Zigzag: the last bit is the sign.
        Ok(i64::try_from(raw >> 1).map_err(|_| Stop::Strange)? ^ -i64::from(raw & 1 == 1))
    }

    /// Elements and their type.
    fn list(&mut self) -> Walked<(u64, u8)> {
        let head = self.byte()?;
        let count = if head >> 4 == 15 { self.unsigned()? } else { u64::from(head >> 4) };
        // Every element takes a byte or more.
        if count > self.left() as u64 {
            return Err(Stop::Lie(format!("a list of {count} elements where {} bytes are left", self.left())));
        }
        Ok((count, head & 0x0f))
    }

    fn skip(&mut self, kind: u8, depth: usize) -> Walked<()> {
        if depth > MAX_DEPTH {
            return Err(Stop::Lie(format!("structures that nest deeper than {MAX_DEPTH}")));
        }
        match kind {
            1 | 2 => Ok(()),
            3 => self.pass(1),
            4..=6 => self.unsigned().map(drop),
            7 => self.pass(8),
            8 => {
                let bytes = self.unsigned()?;
                self.pass(bytes)
            }
            9 | 10 => {
                let (count, element) = self.list()?;
                // A boolean is a byte in a list, and part of the header elsewhere.
                let element = if matches!(element, 1 | 2) { 3 } else { element };
                (0..count).try_for_each(|_| self.skip(element, depth + 1))
            }
            11 => {
                let count = self.unsigned()?;
                if count == 0 {
                    return Ok(());
                }
                if count > self.left() as u64 {
                    return Err(Stop::Lie(format!("a map of {count} entries where {} bytes are left", self.left())));
                }
                let kinds = self.byte()?;
                (0..count).try_for_each(|_| {
                    self.skip(kinds >> 4, depth + 1)?;
                    self.skip(kinds & 0x0f, depth + 1)
                })
            }
            12 => self.fields(&mut |walk, _, kind| walk.skip(kind, depth + 1)),
            13 => self.pass(16),
            _ => Err(Stop::Strange),
        }
    }

    /// Calls `field` with the number and type of each field of a structure; it
    /// has to consume the value.
    fn fields(&mut self, field: &mut dyn FnMut(&mut Self, i64, u8) -> Walked<()>) -> Walked<()> {
        let mut number = 0i64;
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Ok(());
            }
            number = if head >> 4 == 0 { self.signed()? } else { number.saturating_add(i64::from(head >> 4)) };
            field(self, number, head & 0x0f)?;
        }
    }

    /// The schema is a tree in depth-first order: each group states how many
    /// children follow.
    fn schema(&mut self) -> Walked<()> {
        let (count, _) = self.list()?;
        // Children that are still to come, per open group.
        let mut open: Vec<u64> = Vec::new();
        for element in 0..count {
            let mut children = 0i64;
            self.fields(&mut |walk, number, kind| match (number, kind) {
                (5, 4..=6) => walk.signed().map(|n| children = n),
                _ => walk.skip(kind, 2),
            })?;
            while open.last() == Some(&0) {
                open.pop();
            }
            if let Some(left) = open.last_mut() {
                *left -= 1;
            }
            let children = u64::try_from(children).map_err(|_| Stop::Lie(format!("a group of {children} columns")))?;
            if children > count - element - 1 {
                return Err(Stop::Lie(format!("a group of {children} columns where {} follow", count - element - 1)));
            }
            if children > 0 {
                open.push(children);
            }
            if open.len() > MAX_SCHEMA_DEPTH {
                return Err(Stop::Lie(format!("columns that nest deeper than {MAX_SCHEMA_DEPTH}")));
            }
        }
        Ok(())
    }
}

/// Checks the Thrift text of a footer.
///
/// # Errors
/// The lie that it tells, in words.
pub(crate) fn check_footer(footer: &[u8]) -> Result<(), String> {
    let mut walk = Walk { bytes: footer, at: 0 };
    let walked = walk.fields(&mut |walk, number, kind| match (number, kind) {
        (2, 9) => walk.schema(),
        _ => walk.skip(kind, 1),
    });
    match walked {
        Err(Stop::Lie(said)) => Err(format!("its footer states {said}")),
        // Whatever is cut off or strange, the decoder refuses by itself.
        Ok(()) | Err(Stop::Strange) => Ok(()),
    }
}

/// What a page's header states.
#[derive(Debug, Default)]
struct PageHead {
    decoded: i64,
    stored: i64,
    /// Values of a dictionary page.
    dictionary: Option<i64>,
}

impl PageHead {
    fn read(walk: &mut Walk<'_>) -> Walked<PageHead> {
        let mut head = PageHead::default();
        walk.fields(&mut |walk, number, kind| match (number, kind) {
            (2, 4..=6) => walk.signed().map(|n| head.decoded = n),
            (3, 4..=6) => walk.signed().map(|n| head.stored = n),
            (7, 12) => walk.fields(&mut |walk, number, kind| match (number, kind) {
                (1, 4..=6) => walk.signed().map(|n| head.dictionary = Some(n)),
                _ => walk.skip(kind, 2),
            }),
            _ => walk.skip(kind, 1),
        })?;
        Ok(head)
    }

    fn check(&self) -> Result<(), String> {
        let sizes = u64::try_from(self.decoded).ok().zip(u64::try_from(self.stored).ok());
        let Some((decoded, stored)) = sizes else {
            return Err("a page states a negative size".into());
        };
        if decoded > LARGE_PAGE && decoded / MAX_RATIO > stored {
            return Err(format!("a page of {stored} bytes states {decoded} decoded bytes"));
        }
        // A value of a dictionary takes a byte or more.
        match self.dictionary {
            Some(values) if u64::try_from(values).map_or(true, |v| v > decoded) => {
                Err(format!("a dictionary of {decoded} bytes states {values} values"))
            }
            _ => Ok(()),
        }
    }
}

/// Checks the page headers of a column chunk.
///
/// # Errors
/// The lie that one tells, in words.
pub(crate) fn check_pages(chunk: &[u8]) -> Result<(), String> {
    let mut walk = Walk { bytes: chunk, at: 0 };
    while walk.left() > 0 {
        let head = match PageHead::read(&mut walk) {
            Ok(head) => head,
            Err(Stop::Lie(said)) => return Err(format!("a page's header states {said}")),
            // Not a page: the decoder stops here too.
            Err(Stop::Strange) => return Ok(()),
        };
        head.check()?;
        if walk.pass(u64::try_from(head.stored).unwrap_or(u64::MAX)).is_err() {
            return Ok(());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use deltalake::arrow::array::{Int64Array, RecordBatch, StringArray};
    use deltalake::parquet::arrow::ArrowWriter;
    use deltalake::parquet::file::metadata::ParquetMetaDataReader;
    use deltalake::parquet::file::properties::{WriterProperties, WriterVersion};

    use super::*;

    fn varint(mut n: u64) -> Vec<u8> {
        let mut out = Vec::new();
        while n >= 0x80 {
            out.push((n & 0x7f) as u8 | 0x80);
            n >>= 7;
        }
        out.push(n as u8);
        out
    }

    fn zigzag(n: i64) -> Vec<u8> {
        varint(((n << 1) ^ (n >> 63)) as u64)
    }

    fn file(version: WriterVersion) -> Vec<u8> {
        let ids = Int64Array::from_iter_values(0..5000);
        let texts = StringArray::from_iter_values((0..5000).map(|i| format!("text {}", i % 7)));
        let batch = RecordBatch::try_from_iter([("id", Arc::new(ids) as _), ("t", Arc::new(texts) as _)]).unwrap();
        let properties =
            WriterProperties::builder().set_writer_version(version).set_max_row_group_row_count(Some(1000));
        let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties.build())).unwrap();
        writer.write(&batch).unwrap();
        writer.into_inner().unwrap()
    }

    #[test]
    fn an_honest_file_passes() {
        for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
            let bytes = file(version);
            let end = bytes.len() - 8;
            let length = u32::from_le_bytes(bytes[end..end + 4].try_into().unwrap()) as usize;
            let footer = &bytes[end - length..end];
            let mut walk = Walk { bytes: footer, at: 0 };
            walk.skip(12, 0).unwrap();
            assert_eq!(walk.left(), 0, "the walk ends where the footer does");
            check_footer(footer).unwrap();
            let decoded = ParquetMetaDataReader::decode_metadata(footer).unwrap();
            for column in decoded.row_groups().iter().flat_map(|g| g.columns()) {
                let (start, length) = column.byte_range();
                let chunk = &bytes[start as usize..(start + length) as usize];
                check_pages(chunk).unwrap();
                let mut walk = Walk { bytes: chunk, at: 0 };
                while walk.left() > 0 {
                    let head = PageHead::read(&mut walk).unwrap();
                    walk.pass(head.stored as u64).unwrap();
                }
            }
        }
    }

    #[test]
    fn a_footer_of_two_billion_row_groups_is_refused() {
        // version: 1, row_groups: a list of structures
        let mut footer = vec![0x15, 2, 0x39, 0xfc];
        footer.extend(varint(2_000_000_000));
        let said = check_footer(&footer).unwrap_err();
        assert!(said.contains("2000000000 elements"), "{said}");
    }

    #[test]
    fn a_schema_that_nests_without_end_is_refused() {
        let group = [&[0x55][..], &zigzag(1), &[0]].concat();
        let footer = |groups: usize| {
            let mut footer = vec![0x29, 0xfc];
            footer.extend(varint(groups as u64 + 1));
            (0..groups).for_each(|_| footer.extend(&group));
            footer.extend([0, 0]);
            footer
        };
        check_footer(&footer(50)).unwrap();
        assert!(check_footer(&footer(50_000)).unwrap_err().contains("nest deeper"));
        let too_many = [&[0x29, 0x2c, 0x55][..], &zigzag(i64::from(i32::MAX)), &[0, 0, 0]].concat();
        assert!(check_footer(&too_many).unwrap_err().contains("a group of 2147483647 columns"));
    }

    #[test]
    fn a_page_that_states_two_gigabytes_is_refused() {
        let page = |decoded: i64, values: i64| {
            let mut page = [&[0x15][..], &zigzag(2), &[0x15], &zigzag(decoded), &[0x15], &zigzag(4)].concat();
            // field 7: a dictionary with its number of values
            page.extend([&[0x4c, 0x15][..], &zigzag(values), &[0, 0], &[1, 2, 3, 4]].concat());
            page
        };
        check_pages(&page(4, 1)).unwrap();
        assert!(check_pages(&page(i64::from(i32::MAX), 1)).unwrap_err().contains("2147483647 decoded bytes"));
        assert!(check_pages(&page(4, i64::from(i32::MAX))).unwrap_err().contains("2147483647 values"));
        assert!(check_pages(&page(-1, 1)).unwrap_err().contains("negative"));
        // statistics (field 5, a data page) whose text is longer than the file
        let text = [&[0x5c, 0x5c, 0x18][..], &varint(1 << 40)].concat();
        assert!(check_pages(&text).unwrap_err().contains("1099511627776 bytes"));
    }
}
