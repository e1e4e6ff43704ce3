//! Descriptions as a table in CSV: one of an object that is deposited, or those of many objects that are edited.

use csv::{ByteRecord, ReaderBuilder, StringRecord};

use crate::error::{Format, MetadataError, Place, quoted};
use crate::field::{Element, Field};
use crate::limits::Limits;
use crate::reading::text_of;
use crate::record::Record;

const FORMAT: Format = Format::Csv;

/// A table of descriptions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Table {
    /// The fields that have columns, in their order. A field with a column and no value in a row was left empty there; a field without a
    /// column was not spoken of.
    pub fields: Vec<Field>,
    /// The rows, in their order.
    pub rows: Vec<Row>,
}

/// A row of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The line on which it begins, from 1.
    pub line: u64,
    /// The identifier of the object that it describes.
    pub object: String,
    /// The description.
    pub record: Record,
}

/// What a column has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Column {
    Object,
    Field(Field),
}

/// Reads a table of the descriptions of many objects. The header has names of fields (see [`Field::of_name`]); a field may have several
/// columns. The object is named by the column `object`, or, where there is none, by the column `identifier`; `dc.identifier` is always
/// the element. A cell of a field that [`Field::is_split`] may have several values with `;` between them.
///
/// # Errors
/// Every [`MetadataError`] about a file. Rows with more or fewer cells than the header, rows without an object, and objects that have
/// two rows are [`MetadataError::Syntax`].
///
/// ```
/// use strongroom_metadata::{Element, Field, Limits, read_table};
///
/// # fn main() -> Result<(), strongroom_metadata::MetadataError> {
/// let table = read_table(b"identifier,title,subject\nark:/99999/fk4x,Notes,engines;notes\n", &Limits::default())?;
/// assert_eq!(table.rows[0].object, "ark:/99999/fk4x");
/// assert_eq!(table.rows[0].record.values(Field::Element(Element::Subject)), ["engines", "notes"]);
/// # Ok(())
/// # }
/// ```
pub fn read_table(bytes: &[u8], limits: &Limits) -> Result<Table, MetadataError> {
    let mut cells = Cells::new(bytes, limits)?;
    let mut columns = cells.columns()?;
    if !columns.contains(&Column::Object) {
        // A prefixed name is no plain `identifier`, so the header is asked.
        let plain = cells.header.iter().position(|name| name.trim().eq_ignore_ascii_case("identifier"));
        let Some(column) = plain.and_then(|at| columns.get_mut(at)) else {
            let reason = "the header has no column \"object\" or \"identifier\", which names the object of a row";
            return Err(MetadataError::Syntax { place: Place::line(FORMAT, 1), reason: reason.into() });
        };
        *column = Column::Object;
    }
    let mut table = Table { fields: fields_of(&columns), rows: Vec::new() };
    let mut objects = std::collections::BTreeSet::new();
    while let Some((line, row)) = cells.row()? {
        let place = Place::line(FORMAT, line);
        let (object, record) = described(&columns, &row, place, limits)?;
        if object.is_empty() {
            return Err(MetadataError::Syntax { place, reason: "the row names no object".into() });
        }
        if !objects.insert(object.clone()) {
            let reason = format!("the object {} has a row already", quoted(&object));
            return Err(MetadataError::Syntax { place, reason });
        }
        if table.rows.len() >= limits.rows {
            return Err(MetadataError::TooManyRows { place, limit: limits.rows });
        }
        table.rows.push(Row { line, object, record });
    }
    Ok(table)
}

/// Reads a table of one row: the description of the object that it is deposited with. Every column is a field; `identifier` is the
/// element of Dublin Core.
///
/// # Errors
/// As [`read_table`]; a column `object`, and a number of rows other than one, are [`MetadataError::Syntax`].
pub fn read_csv(bytes: &[u8], limits: &Limits) -> Result<Record, MetadataError> {
    let mut cells = Cells::new(bytes, limits)?;
    let columns = cells.columns()?;
    let syntax =
        |line: u64, reason: &str| MetadataError::Syntax { place: Place::line(FORMAT, line), reason: reason.to_owned() };
    if columns.contains(&Column::Object) {
        return Err(syntax(1, "a column \"object\" is for tables of many objects; this one describes a single object"));
    }
    let Some((line, row)) = cells.row()? else { return Err(syntax(1, "there is no row below the header")) };
    let (_, record) = described(&columns, &row, Place::line(FORMAT, line), limits)?;
    match cells.row()? {
        Some((line, _)) => Err(syntax(line, "there is a second row, and the file describes a single object")),
        None => Ok(record),
    }
}

fn fields_of(columns: &[Column]) -> Vec<Field> {
    let mut fields = Vec::new();
    for column in columns {
        if let Column::Field(field) = column
            && !fields.contains(field)
        {
            fields.push(*field);
        }
    }
    fields
}

/// The object and the description of a row.
fn described(
    columns: &[Column],
    row: &StringRecord,
    place: Place,
    limits: &Limits,
) -> Result<(String, Record), MetadataError> {
    let mut object = String::new();
    let mut record = Record::new();
    // The identifier is a value like others: it is read by the same rules.
    let mut named = Record::new();
    let identifier = Field::Element(Element::Identifier);
    for (column, cell) in columns.iter().zip(row) {
        match column {
            Column::Object => named.add_at(place, identifier, cell, limits)?,
            Column::Field(field) => record.add_split_at(place, *field, cell, limits)?,
        }
    }
    if let Some(name) = named.first(identifier) {
        name.clone_into(&mut object);
    }
    Ok((object, record))
}

/// The cells of a file, row by row.
struct Cells<'b> {
    reader: csv::Reader<&'b [u8]>,
    header: StringRecord,
    lines: Lines<'b>,
}

impl<'b> Cells<'b> {
    fn new(bytes: &'b [u8], limits: &Limits) -> Result<Self, MetadataError> {
        let text = text_of(FORMAT, bytes, limits)?;
        let mut reader = ReaderBuilder::new().from_reader(text.as_bytes());
        let mut lines = Lines { bytes: text.as_bytes(), counted: (0, 1) };
        let header = reader.headers().map_err(|error| failure(&error, &mut lines))?.clone();
        Ok(Self { reader, header, lines })
    }

    fn columns(&self) -> Result<Vec<Column>, MetadataError> {
        let place = Place::line(FORMAT, 1);
        if self.header.is_empty() {
            return Err(MetadataError::Syntax { place, reason: "there is no header".into() });
        }
        let column = |name: &str| {
            if name.trim().eq_ignore_ascii_case("object") {
                return Ok(Column::Object);
            }
            let field = Field::of_name(name).map(Column::Field);
            field.ok_or_else(|| MetadataError::UnknownField { place, name: name.to_owned() })
        };
        let columns: Vec<Column> = self.header.iter().map(column).collect::<Result<_, _>>()?;
        if columns.iter().filter(|&&column| column == Column::Object).count() > 1 {
            let reason = "the header has two columns \"object\"".into();
            return Err(MetadataError::Syntax { place, reason });
        }
        Ok(columns)
    }

    fn row(&mut self) -> Result<Option<(u64, StringRecord)>, MetadataError> {
        let mut row = ByteRecord::new();
        if !self.reader.read_byte_record(&mut row).map_err(|error| failure(&error, &mut self.lines))? {
            return Ok(None);
        }
        let line = row.position().map_or(0, |position| self.lines.of(position.byte()));
        let row = StringRecord::from_byte_record(row).map_err(|_| MetadataError::Encoding {
            place: Place::line(FORMAT, line),
            reason: "a cell ends within a character".into(),
        })?;
        Ok(Some((line, row)))
    }
}

/// The numbers of lines. Those of the parser are wrong after blank lines.
struct Lines<'b> {
    bytes: &'b [u8],
    /// The beginning of a row, and its line.
    counted: (usize, u64),
}

impl Lines<'_> {
    /// The line of the row that the parser says begins at a byte. Rows are asked for in their order.
    fn of(&mut self, byte: u64) -> u64 {
        let (from, mut line) = self.counted;
        let byte = usize::try_from(byte).unwrap_or(usize::MAX).max(from);
        let blank =
            self.bytes.get(byte..).unwrap_or_default().iter().take_while(|&&byte| matches!(byte, b'\n' | b'\r'));
        let begin = byte.saturating_add(blank.count());
        let passed = self.bytes.get(from..begin).unwrap_or_default();
        for (at, end) in passed.iter().enumerate() {
            let is_end = *end == b'\n' || (*end == b'\r' && passed.get(at + 1) != Some(&b'\n'));
            line += u64::from(is_end);
        }
        self.counted = (begin, line);
        line
    }
}

fn failure(error: &csv::Error, lines: &mut Lines<'_>) -> MetadataError {
    let line = error.position().map(|position| lines.of(position.byte()));
    let reason = match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("the row has {len} cells, and the header has {expected_len}")
        }
        _ => error.to_string(),
    };
    MetadataError::Syntax { place: Place { format: Some(FORMAT), line }, reason }
}
