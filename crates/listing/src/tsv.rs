//! Lines of tab-separated values, without their ends: what would end a cell or a line is written with a backslash.

/// One line. Tabs, newlines, carriage returns and backslashes are `\t`, `\n`, `\r` and `\\`, so that different cells stay different.
pub fn line<'c>(cells: impl IntoIterator<Item = &'c str>) -> String {
    let mut line = String::new();
    for (index, cell) in cells.into_iter().enumerate() {
        if index > 0 {
            line.push('\t');
        }
        for character in cell.chars() {
            match character {
                '\\' => line.push_str("\\\\"),
                '\t' => line.push_str("\\t"),
                '\n' => line.push_str("\\n"),
                '\r' => line.push_str("\\r"),
                other => line.push(other),
            }
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::line;

    #[test]
    fn a_cell_ends_neither_itself_nor_the_line() {
        assert_eq!(line(["a\tb", "", "c\nd\re", "\\t"]), "a\\tb\t\tc\\nd\\re\t\\\\t");
    }
}
