//! Lines of comma-separated values (RFC 4180, with LF): fields are quoted where they need it. What a spreadsheet would take
//! for a formula gets an apostrophe before it.

/// One line, without its end.
pub fn line<S: AsRef<str>>(fields: impl IntoIterator<Item = S>) -> String {
    let mut line = String::new();
    for (index, field) in fields.into_iter().enumerate() {
        if index > 0 {
            line.push(',');
        }
        push(&mut line, field.as_ref());
    }
    line
}

/// Whether a spreadsheet would compute a field instead of showing it.
fn is_formula(field: &str) -> bool {
    let is_number = field.parse::<f64>().is_ok_and(f64::is_finite)
        && field.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    field.starts_with(['=', '+', '-', '@', '\t', '\r']) && !is_number
}

fn push(line: &mut String, field: &str) {
    let as_text: String;
    let field = if is_formula(field) {
        as_text = format!("'{field}");
        &as_text
    } else {
        field
    };
    let needs_quotes = field.starts_with([' ', '\t']) || field.contains([',', '"', '\n', '\r']);
    if !needs_quotes {
        line.push_str(field);
        return;
    }
    line.push('"');
    line.push_str(&field.replace('"', "\"\""));
    line.push('"');
}

#[cfg(test)]
mod tests {
    use super::line;

    #[test]
    fn fields_are_quoted_where_they_need_it() {
        assert_eq!(line(["a", "", "b c"]), "a,,b c");
        assert_eq!(line(["=1+1", "-2", "+0.5e3", "-x", "@a", "+1-1", "-inf"]), "'=1+1,-2,+0.5e3,'-x,'@a,'+1-1,'-inf");
        assert_eq!(line(["\ta", "\r=b", "=a,b"]), "'\ta,\"'\r=b\",\"'=a,b\"");
        assert_eq!(line(["a,b", "say \"no\"", " x", "1\n2"]), "\"a,b\",\"say \"\"no\"\"\",\" x\",\"1\n2\"");
    }
}
