//! The rules of `bag-info.txt`: `Payload-Oxum`, and the form of reserved tags (RFC 8493 section 2.2.2).

use super::join::Totals;
use super::survey::Survey;
use crate::codes;
use crate::declaration::shorten;
use crate::problem::Problem;
use crate::tag_file::Tag;

const ONCE: [&str; 4] = ["Bagging-Date", "Bag-Size", "Bag-Group-Identifier", "Bag-Count"];

pub(super) fn check_bag_info(
    tags: &[Tag],
    file: &str,
    survey: &Survey,
    totals: Totals,
    report: &mut dyn FnMut(Problem),
) {
    let of =
        |label: &'static str| tags.iter().filter(move |tag| tag.file == file && tag.label.eq_ignore_ascii_case(label));
    let at = |problem: Problem, tag: &Tag| problem.in_file(file).at_line(tag.line);

    for label in ONCE {
        for tag in of(label).skip(1) {
            report(at(codes::BAG_INFO_REPEATED.problem(format!("{label} should occur only once")), tag));
        }
    }
    for tag in of("Bagging-Date") {
        if !is_date(&tag.value) {
            let message = format!("Bagging-Date should be YYYY-MM-DD, not {:?}", shorten(&tag.value));
            report(at(codes::BAG_INFO_VALUE.problem(message), tag));
        }
    }
    for tag in of("Bag-Count") {
        if !is_count(&tag.value) {
            let message = format!("Bag-Count should be \"N of T\" or \"N of ?\", not {:?}", shorten(&tag.value));
            report(at(codes::BAG_INFO_VALUE.problem(message), tag));
        }
    }
    for tag in of("Payload-Oxum").skip(1) {
        report(at(codes::OXUM_REPEATED.problem("Payload-Oxum may occur only once"), tag));
    }
    for tag in of("Payload-Oxum") {
        let Some((octets, files)) = parse_oxum(&tag.value) else {
            let message = format!("Payload-Oxum has to be OCTETS.FILES, not {:?}", shorten(&tag.value));
            report(at(codes::OXUM_MALFORMED.problem(message), tag));
            continue;
        };
        // While files are missing, only what is there can be counted: the rest must fit what is missing.
        let holds = if totals.missing_payload == 0 {
            (octets, files) == (survey.payload_bytes, survey.payload_files)
        } else {
            octets >= survey.payload_bytes && files == survey.payload_files + totals.missing_payload
        };
        if !holds {
            let message = format!(
                "Payload-Oxum states {octets} bytes in {files} files; there are {} bytes in {} files",
                survey.payload_bytes, survey.payload_files
            );
            report(at(codes::OXUM_MISMATCH.problem(message), tag));
        }
    }
}

fn number(digits: &str) -> Option<u64> {
    (!digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit())).then(|| digits.parse().ok())?
}

fn parse_oxum(value: &str) -> Option<(u64, u64)> {
    let (octets, files) = value.split_once('.')?;
    Some((number(octets)?, number(files)?))
}

/// A date; common baggers add the time of day, which says no less, or leave the value empty.
fn is_date(value: &str) -> bool {
    let date = value.split_once('T').map_or(value, |(date, _)| date);
    value.is_empty() || (date.len() == 10 && date.parse::<jiff::civil::Date>().is_ok())
}

/// `N of T` or `N of ?`; common baggers write the number alone, or leave the value empty.
fn is_count(value: &str) -> bool {
    value.is_empty()
        || number(value).is_some()
        || value
            .split_once(" of ")
            .is_some_and(|(nth, total)| number(nth).is_some() && (total == "?" || number(total).is_some()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_the_form_the_standard_gives_them() {
        assert_eq!(parse_oxum("279164409832.1198"), Some((279_164_409_832, 1198)));
        for value in ["", "1", "1.", ".1", "1.2.3", "-1.2", "a.b", "1. 2", "99999999999999999999.1"] {
            assert_eq!(parse_oxum(value), None, "{value}");
        }
        assert!(
            is_date("2008-01-15") && is_date("2020-09-24T20:25:08Z") && !is_date("2008-13-15") && !is_date("15.1.2008")
        );
        assert!(is_count("1 of 15") && is_count("3 of ?") && !is_count("1/15") && !is_count("? of 3"));
    }
}
