//! Tables of any bytes, read as one description and as many.
#![no_main]

use libfuzzer_sys::fuzz_target;
use strongroom_metadata::{Limits, read_csv, read_table};

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits { rows: 8, values: 8, value_bytes: 64, bytes: 4 << 10 };
    if let Ok(record) = read_csv(bytes, &limits) {
        assert!(record.len() <= limits.values);
    }
    let Ok(table) = read_table(bytes, &limits) else { return };
    assert!(table.rows.len() <= limits.rows);
    for row in &table.rows {
        assert!(!row.object.is_empty() && row.line > 1);
        assert!(row.record.fields().all(|(field, _)| table.fields.contains(&field)));
    }
});
