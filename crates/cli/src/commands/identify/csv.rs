//! Lines of comma-separated values (RFC 4180, with LF): fields are quoted where they need it.

/// One line, without its end.
pub(super) fn line<S: AsRef<str>>(fields: impl IntoIterator<Item = S>) -> String {
    let mut line = String::new();
    for (index, field) in fields.into_iter().enumerate() {
        if index > 0 {
            line.push(',');
        }
        push(&mut line, field.as_ref());
    }
    line
}

fn push(line: &mut String, field: &str) {
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
        assert_eq!(line(["a,b", "say \"no\"", " x", "1\n2"]), "\"a,b\",\"say \"\"no\"\"\",\" x\",\"1\n2\"");
    }
}
