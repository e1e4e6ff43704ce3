//! Values that cross the port, rows that come back, and points in time.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use uuid::Uuid;

use crate::DatabaseError;

/// A point in time, in microseconds since the epoch: what both dialects store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub i64);

impl Time {
    /// This point as a timestamp; out-of-range values become the nearest one.
    pub fn timestamp(self) -> Timestamp {
        Timestamp::from_microsecond(self.0).unwrap_or(Timestamp::MAX)
    }

    /// This point moved by `microseconds`.
    #[must_use]
    pub fn plus(self, microseconds: i64) -> Self {
        Self(self.0.saturating_add(microseconds))
    }
}

impl From<Timestamp> for Time {
    fn from(timestamp: Timestamp) -> Self {
        Self(timestamp.as_microsecond())
    }
}

impl fmt::Display for Time {
    /// RFC 3339 in UTC, with microseconds where there are any.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.timestamp())
    }
}

/// A value given to or got from a statement.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// SQL NULL.
    Null,
    /// A whole number, a boolean (0, 1) or a time in microseconds.
    Integer(i64),
    /// A measured number.
    Real(f64),
    /// Text.
    Text(String),
    /// Raw bytes, such as a digest.
    Bytes(Vec<u8>),
    /// An identifier of ours: 16 bytes in SQLite, `uuid` in PostgreSQL.
    Uuid(Uuid),
}

macro_rules! value_from {
    ($($type:ty => |$value:ident| $made:expr),* $(,)?) => {$(
        impl From<$type> for Value {
            fn from($value: $type) -> Self {
                $made
            }
        }
    )*};
}

value_from! {
    i64 => |v| Self::Integer(v),
    i32 => |v| Self::Integer(v.into()),
    u32 => |v| Self::Integer(v.into()),
    u64 => |v| Self::Integer(i64::try_from(v).unwrap_or(i64::MAX)),
    usize => |v| Self::Integer(i64::try_from(v).unwrap_or(i64::MAX)),
    bool => |v| Self::Integer(v.into()),
    f64 => |v| Self::Real(v),
    &str => |v| Self::Text(v.to_owned()),
    String => |v| Self::Text(v),
    &String => |v| Self::Text(v.clone()),
    Vec<u8> => |v| Self::Bytes(v),
    &[u8] => |v| Self::Bytes(v.to_vec()),
    Uuid => |v| Self::Uuid(v),
    Time => |v| Self::Integer(v.0),
}

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// The names of the columns of a statement's answer, resolved to positions once.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Columns(HashMap<String, usize>);

impl Columns {
    /// The columns in the order of the statement's select list. Of two of one name, none is found by it.
    pub(crate) fn of<'n>(names: impl Iterator<Item = &'n str>) -> Self {
        let (mut positions, mut repeated) = (HashMap::new(), Vec::new());
        for (position, name) in names.enumerate() {
            if positions.insert(name.to_owned(), position).is_some() {
                repeated.push(name);
            }
        }
        positions.retain(|name: &String, _| !repeated.contains(&name.as_str()));
        Self(positions)
    }
}

/// One row of an answer; columns are taken by their name in the statement's select list.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    columns: Arc<Columns>,
    values: Vec<Value>,
}

impl Row {
    pub(crate) fn new(columns: &Arc<Columns>, values: Vec<Value>) -> Self {
        Self { columns: columns.clone(), values }
    }

    fn value(&self, column: &'static str) -> Result<&Value, DatabaseError> {
        let position = self.columns.0.get(column);
        position.and_then(|position| self.values.get(*position)).ok_or_else(|| DatabaseError::Column {
            column: column.into(),
            wanted: "a value",
            found: "no column of this name, or more than one".into(),
        })
    }

    /// A whole number.
    pub fn integer(&self, column: &'static str) -> Result<i64, DatabaseError> {
        self.optional_integer(column)?.ok_or_else(|| null(column, "a whole number"))
    }

    /// A whole number or NULL.
    pub fn optional_integer(&self, column: &'static str) -> Result<Option<i64>, DatabaseError> {
        match self.value(column)? {
            Value::Null => Ok(None),
            Value::Integer(number) => Ok(Some(*number)),
            other => Err(wrong(column, "a whole number", other)),
        }
    }

    /// A count or size: a whole number that is never negative.
    pub fn count(&self, column: &'static str) -> Result<u64, DatabaseError> {
        let number = self.integer(column)?;
        u64::try_from(number).map_err(|_| wrong(column, "a count", &Value::Integer(number)))
    }

    /// A truth value.
    pub fn bool(&self, column: &'static str) -> Result<bool, DatabaseError> {
        Ok(self.integer(column)? != 0)
    }

    /// A point in time.
    pub fn time(&self, column: &'static str) -> Result<Time, DatabaseError> {
        self.integer(column).map(Time)
    }

    /// A point in time or NULL.
    pub fn optional_time(&self, column: &'static str) -> Result<Option<Time>, DatabaseError> {
        Ok(self.optional_integer(column)?.map(Time))
    }

    /// Text.
    pub fn text(&self, column: &'static str) -> Result<&str, DatabaseError> {
        self.optional_text(column)?.ok_or_else(|| null(column, "text"))
    }

    /// Text or NULL.
    pub fn optional_text(&self, column: &'static str) -> Result<Option<&str>, DatabaseError> {
        match self.value(column)? {
            Value::Null => Ok(None),
            Value::Text(text) => Ok(Some(text)),
            other => Err(wrong(column, "text", other)),
        }
    }

    /// Raw bytes.
    pub fn bytes(&self, column: &'static str) -> Result<&[u8], DatabaseError> {
        self.optional_bytes(column)?.ok_or_else(|| null(column, "bytes"))
    }

    /// Raw bytes or NULL.
    pub fn optional_bytes(&self, column: &'static str) -> Result<Option<&[u8]>, DatabaseError> {
        match self.value(column)? {
            Value::Null => Ok(None),
            Value::Bytes(bytes) => Ok(Some(bytes)),
            Value::Uuid(uuid) => Ok(Some(uuid.as_bytes())),
            other => Err(wrong(column, "bytes", other)),
        }
    }

    /// An identifier.
    pub fn uuid(&self, column: &'static str) -> Result<Uuid, DatabaseError> {
        self.optional_uuid(column)?.ok_or_else(|| null(column, "an identifier"))
    }

    /// An identifier or NULL.
    pub fn optional_uuid(&self, column: &'static str) -> Result<Option<Uuid>, DatabaseError> {
        match self.value(column)? {
            Value::Null => Ok(None),
            Value::Uuid(uuid) => Ok(Some(*uuid)),
            Value::Bytes(bytes) => Uuid::from_slice(bytes)
                .map(Some)
                .map_err(|_| wrong(column, "an identifier", &Value::Bytes(bytes.clone()))),
            other => Err(wrong(column, "an identifier", other)),
        }
    }
}

fn null(column: &'static str, wanted: &'static str) -> DatabaseError {
    DatabaseError::Column { column: column.into(), wanted, found: "NULL".into() }
}

fn wrong(column: &'static str, wanted: &'static str, found: &Value) -> DatabaseError {
    DatabaseError::Column { column: column.into(), wanted, found: format!("{found:?}") }
}
