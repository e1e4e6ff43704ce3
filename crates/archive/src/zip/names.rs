//! The names of members: UTF-8 where it is declared or fits, else code page 437 (APPNOTE appendix D).

/// General purpose bit 11: the name is UTF-8.
const UTF8_NAME: u16 = 1 << 11;

/// The upper half of code page 437, from the mapping table that Unicode publishes.
#[rustfmt::skip]
static UPPER_HALF: [char; 128] = [
    'Ç', 'ü', 'é', 'â', 'ä', 'à', 'å', 'ç', 'ê', 'ë', 'è', 'ï', 'î', 'ì', 'Ä', 'Å',
    'É', 'æ', 'Æ', 'ô', 'ö', 'ò', 'û', 'ù', 'ÿ', 'Ö', 'Ü', '¢', '£', '¥', '₧', 'ƒ',
    'á', 'í', 'ó', 'ú', 'ñ', 'Ñ', 'ª', 'º', '¿', '⌐', '¬', '½', '¼', '¡', '«', '»',
    '░', '▒', '▓', '│', '┤', '╡', '╢', '╖', '╕', '╣', '║', '╗', '╝', '╜', '╛', '┐',
    '└', '┴', '┬', '├', '─', '┼', '╞', '╟', '╚', '╔', '╩', '╦', '╠', '═', '╬', '╧',
    '╨', '╤', '╥', '╙', '╘', '╒', '╓', '╫', '╪', '┘', '┌', '█', '▄', '▌', '▐', '▀',
    'α', 'ß', 'Γ', 'π', 'Σ', 'σ', 'µ', 'τ', 'Φ', 'Θ', 'Ω', 'δ', '∞', 'φ', 'ε', '∩',
    '≡', '±', '≥', '≤', '⌠', '⌡', '÷', '≈', '°', '∙', '·', '√', 'ⁿ', '²', '■', '\u{A0}',
];

/// The bytes of a name in UTF-8. Programs that do not set bit 11 write UTF-8 all the same, so it is tried first; hardly any
/// text in another encoding is UTF-8 by chance. A name that is declared UTF-8 and is not stays as it is.
pub(super) fn decode(name: &[u8], flags: u16) -> Vec<u8> {
    if flags & UTF8_NAME != 0 || std::str::from_utf8(name).is_ok() {
        return name.to_vec();
    }
    name.iter().map(|byte| decode_byte(*byte)).collect::<String>().into_bytes()
}

fn decode_byte(byte: u8) -> char {
    byte.checked_sub(0x80).and_then(|index| UPPER_HALF.get(usize::from(index)).copied()).unwrap_or(char::from(byte))
}

#[cfg(test)]
mod tests {
    use super::{UTF8_NAME, decode};

    #[test]
    fn names_are_read_as_declared_or_as_they_fit() {
        assert_eq!(decode("Käse/☃".as_bytes(), UTF8_NAME), "Käse/☃".as_bytes());
        assert_eq!(decode("Käse/☃".as_bytes(), 0), "Käse/☃".as_bytes());
        assert_eq!(decode(b"K\x84se\xFF", 0), "Käse\u{A0}".as_bytes());
        assert_eq!(decode(b"K\x84se", UTF8_NAME), b"K\x84se");
        assert_eq!(decode(b"a\\b\0", 0), b"a\\b\0");
    }
}
