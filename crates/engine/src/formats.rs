//! Formats by file name extension: what a deposit's files probably are, as long as nothing has looked into them.

use strongroom_registry::Format;

/// Extensions in lower case and the media types registered for them (IANA media types registry, and where a format has none,
/// the type in common use).
const MEDIA_TYPES: &[(&str, &str)] = &[
    ("7z", "application/x-7z-compressed"),
    ("aif", "audio/aiff"),
    ("aiff", "audio/aiff"),
    ("avi", "video/vnd.avi"),
    ("bmp", "image/bmp"),
    ("bz2", "application/x-bzip2"),
    ("c", "text/x-c"),
    ("css", "text/css"),
    ("csv", "text/csv"),
    ("dng", "image/x-adobe-dng"),
    ("doc", "application/msword"),
    ("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    ("eml", "message/rfc822"),
    ("eps", "application/postscript"),
    ("epub", "application/epub+zip"),
    ("fits", "application/fits"),
    ("flac", "audio/flac"),
    ("geojson", "application/geo+json"),
    ("gif", "image/gif"),
    ("gml", "application/gml+xml"),
    ("gz", "application/gzip"),
    ("htm", "text/html"),
    ("html", "text/html"),
    ("ics", "text/calendar"),
    ("j2k", "image/jp2"),
    ("jp2", "image/jp2"),
    ("jpeg", "image/jpeg"),
    ("jpf", "image/jpx"),
    ("jpg", "image/jpeg"),
    ("jpx", "image/jpx"),
    ("js", "text/javascript"),
    ("json", "application/json"),
    ("jsonl", "application/jsonl"),
    ("jsonld", "application/ld+json"),
    ("jxl", "image/jxl"),
    ("kml", "application/vnd.google-earth.kml+xml"),
    ("m4a", "audio/mp4"),
    ("m4v", "video/mp4"),
    ("marc", "application/marc"),
    ("mbox", "application/mbox"),
    ("md", "text/markdown"),
    ("mid", "audio/midi"),
    ("mj2", "video/mj2"),
    ("mka", "audio/matroska"),
    ("mkv", "video/matroska"),
    ("mov", "video/quicktime"),
    ("mp3", "audio/mpeg"),
    ("mp4", "video/mp4"),
    ("mpeg", "video/mpeg"),
    ("mpg", "video/mpeg"),
    ("mrc", "application/marc"),
    ("mxf", "application/mxf"),
    ("nc", "application/netcdf"),
    ("odp", "application/vnd.oasis.opendocument.presentation"),
    ("ods", "application/vnd.oasis.opendocument.spreadsheet"),
    ("odt", "application/vnd.oasis.opendocument.text"),
    ("ogg", "audio/ogg"),
    ("opus", "audio/ogg"),
    ("parquet", "application/vnd.apache.parquet"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    ("ppt", "application/vnd.ms-powerpoint"),
    ("pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
    ("ps", "application/postscript"),
    ("psd", "image/vnd.adobe.photoshop"),
    ("py", "text/x-python"),
    ("rdf", "application/rdf+xml"),
    ("rtf", "application/rtf"),
    ("sgml", "text/sgml"),
    ("sql", "application/sql"),
    ("sqlite", "application/vnd.sqlite3"),
    ("svg", "image/svg+xml"),
    ("tar", "application/x-tar"),
    ("tex", "application/x-tex"),
    ("tgz", "application/gzip"),
    ("tif", "image/tiff"),
    ("tiff", "image/tiff"),
    ("tsv", "text/tab-separated-values"),
    ("ttl", "text/turtle"),
    ("txt", "text/plain"),
    ("vtt", "text/vtt"),
    ("warc", "application/warc"),
    ("wav", "audio/vnd.wave"),
    ("webm", "video/webm"),
    ("webp", "image/webp"),
    ("wpd", "application/vnd.wordperfect"),
    ("xhtml", "application/xhtml+xml"),
    ("xls", "application/vnd.ms-excel"),
    ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    ("xml", "application/xml"),
    ("xsl", "application/xslt+xml"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
    ("zip", "application/zip"),
];

/// The format that a file's extension suggests; empty where it suggests none.
pub(crate) fn by_extension(path: &str) -> Format {
    let name = path.rsplit('/').next().unwrap_or(path);
    let Some((stem, extension)) = name.rsplit_once('.') else { return Format::default() };
    let extension = extension.to_ascii_lowercase();
    let found = MEDIA_TYPES.binary_search_by(|(known, _)| (*known).cmp(extension.as_str()));
    match found.ok().and_then(|index| MEDIA_TYPES.get(index)) {
        Some((_, mime)) if !stem.is_empty() => Format {
            mime: Some((*mime).to_owned()),
            method: Some("extension".into()),
            basis: Some(format!("extension {extension}")),
            ..Format::default()
        },
        _ => Format::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order_so_that_a_binary_search_finds_every_line() {
        assert!(MEDIA_TYPES.is_sorted_by(|a, b| a.0 < b.0));
    }

    #[test]
    fn an_extension_is_taken_in_any_letter_case_and_a_hidden_file_has_none() {
        assert_eq!(by_extension("data/Scan 1.TIF").mime.as_deref(), Some("image/tiff"));
        assert_eq!(by_extension("data/.pdf"), Format::default());
        assert_eq!(by_extension("data.pdf/readme"), Format::default());
    }
}
