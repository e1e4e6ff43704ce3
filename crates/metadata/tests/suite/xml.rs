//! Dublin Core and DataCite in XML.

use strongroom_metadata::{Element, Field, Limits, MetadataError, Reading, Record, read_datacite, read_dublin_core};

use crate::{dc, record};

fn dublin_core(file: &str) -> Result<Reading, MetadataError> {
    read_dublin_core(file.as_bytes(), &Limits::default())
}

fn datacite(file: &str) -> Record {
    let reading = read_datacite(file.as_bytes(), &Limits::default()).unwrap();
    assert_eq!(reading.notes, []);
    reading.record
}

const DC: &str = "xmlns:dc=\"http://purl.org/dc/elements/1.1/\"";

#[test]
fn elements_are_found_whatever_the_root_and_the_prefix_are() {
    let expected = record(&[
        (dc(Element::Creator), "Lovelace, Ada"),
        (dc(Element::Creator), "Babbage, Charles"),
        (dc(Element::Title), "Notes & <sketches>"),
    ]);
    for file in [
        format!(
            "<?xml version=\"1.0\"?>\n<DublinCore {DC}><dc:creator>Lovelace, Ada</dc:creator>\n\
             <dc:title>Notes &amp; <![CDATA[<sketches>]]></dc:title><dc:creator> Babbage, &#67;harles </dc:creator><dc:date/></DublinCore>"
        ),
        "<DublinCore><dc:creator>Lovelace, Ada</dc:creator><dc:creator>Babbage, Charles</dc:creator>\
         <dc:title>Notes &amp; &lt;sketches&gt;</dc:title></DublinCore>"
            .into(),
        "<oai_dc:dc xmlns:oai_dc=\"http://www.openarchives.org/OAI/2.0/oai_dc/\" xmlns=\"http://purl.org/dc/elements/1.1/\">\
         <creator>Lovelace, Ada</creator><creator>Babbage, Charles</creator><title>Notes &amp; &#x3c;sketches></title></oai_dc:dc>"
            .into(),
        "<r:RDF xmlns:r=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\" xmlns:t=\"http://purl.org/dc/terms/\"><r:Description>\
         <t:creator><r:Seq><r:li>Lovelace, Ada</r:li></r:Seq></t:creator><t:creator>Babbage, Charles</t:creator>\
         <t:alternative>Notes &amp; &lt;sketches&gt;</t:alternative></r:Description></r:RDF>"
            .into(),
    ] {
        let reading = dublin_core(&file).unwrap();
        assert_eq!((&reading.record, reading.notes.len()), (&expected, 0), "{file}");
    }
}

#[test]
fn elements_of_other_namespaces_are_noted() {
    let file = format!(
        "<m {DC}>\n<dc:title>x</dc:title>\n<note>y</note>\n<empty/>\n<dc:titel>z</dc:titel>\n\
         <t:audience xmlns:t=\"http://purl.org/dc/terms/\">all</t:audience></m>"
    );
    let reading = dublin_core(&file).unwrap();
    assert_eq!(reading.record, record(&[(dc(Element::Title), "x")]));
    let lines: Vec<u64> = reading.notes.iter().map(|note| note.line).collect();
    assert_eq!(lines, [3, 5, 6]);
    assert_eq!(reading.notes[1].message, "\"titel\" was ignored: a description has no field for it");
}

#[test]
fn entities_declarations_and_malformed_documents_are_refused_with_the_line() {
    for (file, reason) in [
        (
            "<?xml version=\"1.0\"?>\n<!DOCTYPE a [<!ENTITY x \"y\">]>\n<a>&x;</a>",
            "at line 2: a document type declaration with entities or other content is not read",
        ),
        ("<a>\n&x;</a>", "at line 2: the entity \"x\" is not known, and none are read"),
        (
            "<!DOCTYPE a SYSTEM \"file:///etc/passwd\">\n<a>&x;</a>",
            "at line 2: the entity \"x\" is not known, and none are read",
        ),
        (
            "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><a/>",
            "at line 1: it is not in UTF-8, the only encoding that is read: it declares the encoding \"ISO-8859-1\"",
        ),
        ("<a>\n<b>", "at line 2: the document ends within an element"),
        ("<a/>\n<b/>", "at line 2: there is a second root element"),
        ("<a/>\nx", "at line 2: there is text outside of the root element"),
        ("", "at line 1: there is no element in it"),
        ("<!-- -->", "at line 1: there is no element in it"),
    ] {
        let error = dublin_core(file).expect_err(file);
        assert_eq!(error.to_string(), format!("cannot read the Dublin Core description {reason}"), "{file}");
    }
    let error = dublin_core("<a>\n\n<b></a>").unwrap_err().to_string();
    assert!(error.starts_with("cannot read the Dublin Core description at line 3: the XML is malformed:"), "{error}");
    assert!(dublin_core("<!DOCTYPE rdf PUBLIC \"x\" \"y.dtd\"><a/>").unwrap().record.is_empty());
    let deep = dublin_core(&"<a>".repeat(65)).unwrap_err().to_string();
    assert!(deep.ends_with("more than 64 elements are in each other"), "{deep}");
}

#[test]
fn a_control_character_by_reference_is_refused_too() {
    let error = dublin_core(&format!("<a {DC}>\n<dc:title>x&#27;y</dc:title></a>")).unwrap_err();
    assert!(
        matches!(error, MetadataError::Character { character: '\u{1b}', .. } | MetadataError::Syntax { .. }),
        "{error}"
    );
    let wide: Vec<u8> = "\u{feff}<a/>".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let error = read_dublin_core(&wide, &Limits::default()).unwrap_err().to_string();
    assert!(error.ends_with("it begins with the byte order mark of UTF-16"), "{error}");
}

#[test]
fn datacite_of_kernel_3_and_4_becomes_dublin_core_and_a_resource_type() {
    let expected = record(&[
        (dc(Element::Identifier), "10.5072/fk2"),
        (dc(Element::Identifier), "box 7"),
        (dc(Element::Creator), "Lovelace, Ada"),
        (dc(Element::Creator), "Babbage, Charles"),
        (dc(Element::Title), "Notes on engines"),
        (dc(Element::Publisher), "Taylor"),
        (dc(Element::Date), "1843"),
        (dc(Element::Date), "1842-10/1843-07"),
        (dc(Element::Subject), "engines"),
        (dc(Element::Contributor), "Menabrea, Luigi"),
        (dc(Element::Language), "en"),
        (dc(Element::Relation), "10.5072/fk3"),
        (dc(Element::Rights), "public domain"),
        (dc(Element::Rights), "https://example.org/licence"),
        (dc(Element::Description), "First line\nsecond line"),
        (dc(Element::Coverage), "London"),
        (dc(Element::Type), "Text"),
        (Field::ResourceType, "Text/Annotated translation"),
    ]);
    let body = "<identifier identifierType=\"DOI\">10.5072/fk2</identifier>\
        <creators><creator><creatorName>Lovelace, Ada</creatorName></creator>\
        <creator><creatorName nameType=\"Personal\">Babbage, Charles</creatorName></creator></creators>\
        <titles><title>Notes on engines</title></titles><publisher>Taylor</publisher>\
        <dates><date dateType=\"Created\">1842-10/1843-07</date></dates>\
        <publicationYear>1843</publicationYear><subjects><subject>engines</subject></subjects>\
        <contributors><contributor contributorType=\"Other\"><contributorName>Menabrea, Luigi</contributorName></contributor></contributors>\
        <language>en</language><resourceType resourceTypeGeneral=\"Text\">Annotated translation</resourceType>\
        <alternateIdentifiers><alternateIdentifier alternateIdentifierType=\"x\">box 7</alternateIdentifier></alternateIdentifiers>\
        <relatedIdentifiers><relatedIdentifier>10.5072/fk3</relatedIdentifier></relatedIdentifiers>\
        <rightsList><rights>public domain</rights><rights rightsURI=\"https://example.org/licence\"/></rightsList>\
        <descriptions><description descriptionType=\"Abstract\">First line<br/>second line</description></descriptions>\
        <geoLocations><geoLocation><geoLocationPlace>London</geoLocationPlace></geoLocation></geoLocations>";
    for space in ["xmlns=\"http://datacite.org/schema/kernel-3\"", "xmlns=\"http://datacite.org/schema/kernel-4\"", ""]
    {
        assert_eq!(
            datacite(&format!("<?xml version=\"1.0\"?><resource {space}>{body}</resource>")),
            expected,
            "{space}"
        );
    }
    let within = format!(
        "<oai><payload><resource xmlns=\"http://datacite.org/schema/kernel-4\">{body}</resource></payload></oai>"
    );
    assert_eq!(datacite(&within), expected);
    let implied = expected.implied_erc();
    assert_eq!(implied.first(Field::Who), Some("Lovelace, Ada; Babbage, Charles"));
    assert_eq!((implied.first(Field::What), implied.first(Field::When)), (Some("Notes on engines"), Some("1843")));
}

#[test]
fn a_document_of_another_kind_is_no_datacite() {
    let read = |file: &str| read_datacite(file.as_bytes(), &Limits::default());
    for file in ["<record/>", "<resource xmlns=\"http://example.org/\"><titles><title>x</title></titles></resource>"] {
        let error = read(file).unwrap_err().to_string();
        assert_eq!(
            error,
            "cannot read the DataCite description at line 1: there is no element \"resource\" of DataCite in it"
        );
    }
    let reading = read("<resource><titles><title>x</title></titles>\n<version>2</version></resource>").unwrap();
    assert_eq!(reading.notes[0].line, 2);
}
