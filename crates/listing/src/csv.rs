//! Lines of comma-separated values (RFC 4180, with LF), without their ends. Names need not be UTF-8, so lines are bytes.

/// One line for a spreadsheet: fields are quoted where they need it, and what would be taken for a formula gets an apostrophe
/// before it.
pub fn line<F: AsRef<[u8]>>(fields: impl IntoIterator<Item = F>) -> Vec<u8> {
    joined(fields, |line, field| {
        if is_formula(field) {
            push(line, &[b"'", field].concat());
        } else {
            push(line, field);
        }
    })
}

/// One line for a program: as [`line()`], with fields as they are.
pub fn exact<F: AsRef<[u8]>>(fields: impl IntoIterator<Item = F>) -> Vec<u8> {
    joined(fields, push)
}

/// One line with each field in quotes.
pub fn quoted<F: AsRef<[u8]>>(fields: impl IntoIterator<Item = F>) -> Vec<u8> {
    joined(fields, quote)
}

fn joined<F: AsRef<[u8]>>(fields: impl IntoIterator<Item = F>, push: impl Fn(&mut Vec<u8>, &[u8])) -> Vec<u8> {
    let mut line = Vec::new();
    for (index, field) in fields.into_iter().enumerate() {
        if index > 0 {
            line.push(b',');
        }
        push(&mut line, field.as_ref());
    }
    line
}

/// The full-width forms of `=`, `+`, `-` and `@`, which some spreadsheets take for these.
const FULL_WIDTH: [&str; 4] = ["\u{ff1d}", "\u{ff0b}", "\u{ff0d}", "\u{ff20}"];

/// Whether a spreadsheet would compute a field instead of showing it.
pub fn is_formula(field: &[u8]) -> bool {
    let is_number = str::from_utf8(field).is_ok_and(|text| text.parse::<f64>().is_ok_and(f64::is_finite))
        && field.iter().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(byte));
    let is_begun = field.first().is_some_and(|first| b"=+-@\t\r".contains(first));
    (is_begun || FULL_WIDTH.iter().any(|first| field.starts_with(first.as_bytes()))) && !is_number
}

fn push(line: &mut Vec<u8>, field: &[u8]) {
    let needs_quotes = matches!(field.first(), Some(b' ' | b'\t'))
        || field.iter().any(|byte| matches!(byte, b',' | b'"' | b'\n' | b'\r'));
    if needs_quotes {
        quote(line, field);
    } else {
        line.extend_from_slice(field);
    }
}

fn quote(line: &mut Vec<u8>, field: &[u8]) {
    line.push(b'"');
    for byte in field {
        if *byte == b'"' {
            line.push(b'"');
        }
        line.push(*byte);
    }
    line.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line<const N: usize>(fields: [&str; N]) -> String {
        String::from_utf8(super::line(fields)).unwrap()
    }

    #[test]
    fn fields_are_quoted_where_they_need_it() {
        assert_eq!(line(["a", "", "b c"]), "a,,b c");
        assert_eq!(line(["=1+1", "-2", "+0.5e3", "-x", "@a", "+1-1", "-inf"]), "'=1+1,-2,+0.5e3,'-x,'@a,'+1-1,'-inf");
        assert_eq!(line(["\u{ff1d}1+1", "\u{ff11}"]), "'\u{ff1d}1+1,\u{ff11}");
        assert_eq!(line(["\ta", "\r=b", "=a,b"]), "'\ta,\"'\r=b\",\"'=a,b\"");
        assert_eq!(line(["a,b", "say \"no\"", " x", "1\n2"]), "\"a,b\",\"say \"\"no\"\"\",\" x\",\"1\n2\"");
    }

    #[test]
    fn for_programs_fields_stay_as_they_are() {
        assert_eq!(exact([&b"=1+1"[..], b"caf\xE9", b"a,b"]), b"=1+1,caf\xE9,\"a,b\"");
        assert_eq!(quoted(["", "a", "\""]), b"\"\",\"a\",\"\"\"\"");
    }
}
