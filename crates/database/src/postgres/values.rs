//! Values on their way to PostgreSQL and back, in its binary form. A statement's own types decide: an identifier may go
//! into `uuid` or `bytea`, a truth value comes back as 0 or 1.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

use bytes::BytesMut;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};
use uuid::Uuid;

use crate::value::Columns;
use crate::{DatabaseError, Row, Value};

/// A value that does not fit the type it should have.
#[derive(Debug)]
pub(super) struct Unfit(String);

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Unfit {}

type Encoded = Result<IsNull, Box<dyn Error + Sync + Send>>;

/// A value as it is bound to a statement.
#[derive(Debug)]
pub(super) struct Bound<'a>(pub(super) &'a Value);

impl ToSql for Bound<'_> {
    fn to_sql(&self, wanted: &Type, out: &mut BytesMut) -> Encoded {
        let unfit =
            || -> Box<dyn Error + Sync + Send> { Box::new(Unfit(format!("{:?} does not fit {wanted}", self.0))) };
        match (self.0, wanted) {
            (Value::Null, _) => Ok(IsNull::Yes),
            (Value::Integer(number), &Type::INT8) => number.to_sql(wanted, out),
            (Value::Integer(number), &Type::INT4) => i32::try_from(*number).map_err(|_| unfit())?.to_sql(wanted, out),
            (Value::Integer(number), &Type::INT2) => i16::try_from(*number).map_err(|_| unfit())?.to_sql(wanted, out),
            (Value::Integer(number), &Type::BOOL) => (*number != 0).to_sql(wanted, out),
            (Value::Integer(number), &Type::FLOAT8) => (*number as f64).to_sql(wanted, out),
            (Value::Real(number), &Type::FLOAT8) => number.to_sql(wanted, out),
            (Value::Text(text), &Type::TEXT | &Type::VARCHAR | &Type::NAME | &Type::UNKNOWN) => {
                without_nul(text).as_ref().to_sql(&Type::TEXT, out)
            }
            (Value::Bytes(bytes), &Type::BYTEA) => bytes.as_slice().to_sql(wanted, out),
            (Value::Uuid(uuid), &Type::UUID | &Type::BYTEA) => {
                out.extend_from_slice(uuid.as_bytes());
                Ok(IsNull::No)
            }
            (Value::Bytes(bytes), &Type::UUID) if bytes.len() == 16 => {
                out.extend_from_slice(bytes);
                Ok(IsNull::No)
            }
            _ => Err(unfit()),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// PostgreSQL's text cannot hold U+0000 (documentation, section 8.3); the replacement character stands in for it.
fn without_nul(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { text.replace('\0', "\u{FFFD}").into() } else { text.into() }
}

/// A value as it comes back.
struct Taken(Value);

impl<'a> FromSql<'a> for Taken {
    fn from_sql(found: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(match *found {
            Type::INT8 => Value::Integer(i64::from_sql(found, raw)?),
            Type::INT4 => Value::Integer(i32::from_sql(found, raw)?.into()),
            Type::INT2 => Value::Integer(i16::from_sql(found, raw)?.into()),
            Type::BOOL => Value::Integer(bool::from_sql(found, raw)?.into()),
            Type::FLOAT8 => Value::Real(f64::from_sql(found, raw)?),
            Type::FLOAT4 => Value::Real(f32::from_sql(found, raw)?.into()),
            Type::TEXT | Type::VARCHAR | Type::NAME | Type::UNKNOWN => Value::Text(String::from_sql(found, raw)?),
            Type::BYTEA => Value::Bytes(raw.to_vec()),
            Type::UUID => Value::Uuid(Uuid::from_slice(raw)?),
            _ => return Err(Box::new(Unfit(format!("{found} is no type that this program uses")))),
        }))
    }

    fn from_sql_null(_: &Type) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(Value::Null))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

/// A row of ours for one of the client's.
pub(super) fn owned(row: &tokio_postgres::Row, columns: &Arc<Columns>) -> Result<Row, DatabaseError> {
    (0..row.len())
        .map(|column| {
            row.try_get::<_, Taken>(column).map(|taken| taken.0).map_err(|error| DatabaseError::Column {
                column: row.columns()[column].name().to_owned().into(),
                wanted: "a number, text, bytes or an identifier",
                found: error.into_source().map_or_else(|| "something else".to_owned(), |cause| cause.to_string()),
            })
        })
        .collect::<Result<_, _>>()
        .map(|values| Row::new(columns, values))
}
