//! What signature files are read as, that those of PRONOM are read whole, and that damaged and hostile ones are refused.

use std::path::PathBuf;

use proptest::prelude::*;
use sha2::{Digest as _, Sha256};
use strongroom_pronom::xml::{self, Document};
use strongroom_pronom::{
    Anchor, ByteClass, ContainerKind, Link, PronomError, Sequence, SignatureSet, builtin, compiled,
};

const BINARY: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<!-- two signatures, three formats -->
<FFSignatureFile xmlns="http://www.nationalarchives.gov.uk/pronom/SignatureFile" Version="7" DateCreated="2026-01-19T09:00:00">
  <InternalSignatureCollection>
    <InternalSignature ID="20" Specificity="Specific">
      <ByteSequence Reference="BOFoffset" Endianness="Little-endian">
        <SubSequence Position="1" SubSeqMinOffset="4" SubSeqMaxOffset="8" MinFragLength="0">
          <Sequence>41[42:43]</Sequence>
          <DefaultShift>5</DefaultShift>
          <Shift Byte="41">1</Shift>
          <LeftFragment Position="1" MinOffset="0" MaxOffset="0">0D0A</LeftFragment>
          <LeftFragment Position="1" MinOffset="0" MaxOffset="0">0A</LeftFragment>
          <RightFragment Position="1" MinOffset="2" MaxOffset="30">44</RightFragment>
          <LeftFragment Position="2" MinOffset="20" MaxOffset="20">40</LeftFragment>
        </SubSequence>
      </ByteSequence>
      <ByteSequence Reference="EOFoffset">
        <SubSequence Position="1" SubSeqMinOffset="0" SubSeqMaxOffset="4"><Sequence>3B</Sequence></SubSequence>
      </ByteSequence>
    </InternalSignature>
    <InternalSignature ID="10"><ByteSequence><SubSequence SubSeqMinOffset="0"><Sequence>464D54</Sequence></SubSequence></ByteSequence></InternalSignature>
  </InternalSignatureCollection>
  <FileFormatCollection>
    <FileFormat ID="900" Name="Container &amp; &lt;more&gt;" PUID="x-fmt/263" MIMEType="application/zip"><Extension>zip</Extension></FileFormat>
    <FileFormat ID="901" Name="Example" PUID="fmt/1" Version="1.0" FormatType="Text">
      <InternalSignatureID>20</InternalSignatureID>
      <Extension>EXM</Extension><Extension>exm</Extension><Extension>ex_</Extension>
      <HasPriorityOverFileFormatID>902</HasPriorityOverFileFormatID>
    </FileFormat>
    <FileFormat ID="902" Name="Example" PUID="fmt/2" Version="" MIMEType="text/a, text/b"><InternalSignatureID>10</InternalSignatureID></FileFormat>
  </FileFormatCollection>
</FFSignatureFile>
"#;

pub(crate) const CONTAINERS: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<ContainerSignatureMapping schemaVersion="1.0" signatureVersion="40">
  <ContainerSignatures>
    <ContainerSignature Id="1000" ContainerType="ZIP">
      <Description>An example</Description>
      <Files>
        <File><Path>mimetype</Path></File>
        <File>
          <Path>META-INF/a&amp;b.xml</Path>
          <BinarySignatures><InternalSignatureCollection>
            <InternalSignature ID="1">
              <ByteSequence Reference="BOFoffset">
                <SubSequence SubSeqMinOffset="0"><Sequence>'&lt;a' ??
                  [!&amp;80]</Sequence></SubSequence>
                <SubSequence Position="2" SubSeqMinOffset="0" SubSeqMaxOffset="9"><Sequence><![CDATA['>']]></Sequence></SubSequence>
              </ByteSequence>
            </InternalSignature>
            <InternalSignature ID="2"><ByteSequence Reference="Variable"><SubSequence><Sequence>'b'</Sequence></SubSequence></ByteSequence></InternalSignature>
          </InternalSignatureCollection></BinarySignatures>
        </File>
      </Files>
    </ContainerSignature>
    <ContainerSignature Id="2000" ContainerType="OLE2"><Files><File><Path>CompObj</Path></File></Files></ContainerSignature>
  </ContainerSignatures>
  <FileFormatMappings>
    <FileFormatMapping signatureId="1000" Puid="fmt/2"/>
    <FileFormatMapping signatureId="2000" Puid="fmt/9999"/>
  </FileFormatMappings>
  <TriggerPuids><TriggerPuid ContainerType="ZIP" Puid="x-fmt/263"/><TriggerPuid ContainerType="OLE2" Puid="fmt/111"/></TriggerPuids>
</ContainerSignatureMapping>
"#;

fn document(xml: &str) -> Document<'_> {
    Document { name: None, bytes: xml.as_bytes() }
}

fn read(binary: &str) -> Result<SignatureSet, PronomError> {
    xml::read(document(binary), None)
}

pub(crate) fn read_both(containers: &str) -> Result<SignatureSet, PronomError> {
    xml::read(document(BINARY), Some(document(containers)))
}

/// A binary file with one format and one signature, whose content is this.
fn with_signature(content: &str) -> String {
    format!(
        r#"<FFSignatureFile Version="1"><InternalSignatureCollection><InternalSignature ID="1">{content}</InternalSignature>
        </InternalSignatureCollection><FileFormatCollection><FileFormat ID="1" Name="A" PUID="fmt/1"><InternalSignatureID>1
        </InternalSignatureID></FileFormat></FileFormatCollection></FFSignatureFile>"#
    )
}

/// A sequence as text: `from the beginning {4-8}0D0A41|0A41`, with `..` for any byte and `[n]` for a set of n.
fn shown(sequence: &Sequence) -> String {
    let class = |class: &ByteClass| match class {
        ByteClass::Is(byte) => format!("{byte:02X}"),
        ByteClass::Any => "..".to_owned(),
        ByteClass::In(set) => format!("[{}]", set.len()),
    };
    let link = |link: &Link| {
        let max = link.gap.max.map_or_else(|| "*".to_owned(), |max| max.to_string());
        let choices: Vec<String> = link.choices.iter().map(|piece| piece.0.iter().map(class).collect()).collect();
        format!("{{{}-{max}}}{}", link.gap.min, choices.join("|"))
    };
    let anchor = match sequence.anchor {
        Anchor::Beginning => "beginning",
        Anchor::End => "end",
    };
    format!("{anchor} {}", sequence.links.iter().map(link).collect::<String>())
}

#[test]
fn a_binary_signature_file_is_read_whole() {
    let set = read(BINARY).expect("it is right");
    assert_eq!(
        (set.binary.name.as_str(), set.binary.version.as_str(), set.binary.created.as_deref()),
        ("DROID_SignatureFile_V7", "7", Some("2026-01-19T09:00:00"))
    );
    let digest: Vec<String> = Sha256::digest(BINARY).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(set.binary.sha256, digest.concat());
    let [zip, one, two] = set.formats.as_slice() else { panic!("{:?}", set.formats) };
    assert_eq!((zip.puid.as_str(), zip.name.as_str(), &zip.version), ("x-fmt/263", "Container & <more>", &None));
    assert_eq!((one.puid.as_str(), one.version.as_deref(), &one.mime), ("fmt/1", Some("1.0"), &None));
    assert_eq!(
        (one.extensions.as_slice(), one.outranks.as_slice()),
        (["exm".to_owned(), "ex_".to_owned()].as_slice(), [2].as_slice())
    );
    assert_eq!((&two.version, two.mime.as_deref()), (&None, Some("text/a, text/b")));
    let signatures: Vec<_> = set
        .signatures
        .iter()
        .map(|signature| (signature.id, signature.format, signature.sequences.iter().map(shown).collect::<Vec<_>>()))
        .collect();
    let expected = [
        (10, 2, vec!["beginning {0-*}464D54".to_owned()]),
        (20, 1, vec!["beginning {4-8}40{20-20}0D0A41[2]|0A41[2]{2-30}44".to_owned(), "end {0-4}3B".to_owned()]),
    ];
    assert_eq!(signatures, expected);
    assert!(set.skipped.is_empty() && set.container.is_none(), "{set:?}");
}

#[test]
fn a_container_signature_file_is_read_whole() {
    let set = read_both(CONTAINERS).expect("it is right");
    let release = set.container.expect("it was given");
    assert_eq!((release.name.as_str(), release.version.as_str()), ("container-signature-v40", "40"));
    let [signature] = set.containers.as_slice() else { panic!("{:?}", set.containers) };
    assert_eq!((signature.id, signature.format, signature.kind), (1000, 2, ContainerKind::Zip));
    let [name_alone, content] = signature.rules.as_slice() else { panic!("{:?}", signature.rules) };
    assert_eq!((name_alone.path.as_str(), name_alone.signatures.len()), ("mimetype", 0));
    assert_eq!(content.path, "META-INF/a&b.xml");
    let either: Vec<Vec<String>> =
        content.signatures.iter().map(|sequences| sequences.iter().map(shown).collect()).collect();
    assert_eq!(either, [["beginning {0-0}3C61..[128]{0-9}3E"], ["beginning {0-*}62"]]);
    assert_eq!(set.triggers, [(ContainerKind::Zip, 0)]);
    let skipped = [
        "container signature 2000 belongs to fmt/9999, an unknown format",
        "fmt/111, which asks for a container signature, is an unknown format",
    ];
    assert_eq!(set.skipped, skipped);
}

#[test]
fn a_release_is_named_after_its_file() {
    let name = |name| {
        let binary = Document { name: Some(name), bytes: BINARY.as_bytes() };
        xml::read(binary, None).expect("it is right").binary.name
    };
    assert_eq!(name("DROID_SignatureFile_V122.xml"), "DROID_SignatureFile_V122");
    assert_eq!(name("folder.d/own signatures.XML"), "own signatures");
    assert_eq!(name("a.b"), "a.b");
    assert_eq!(name("folder/.xml"), "DROID_SignatureFile_V7");
}

#[test]
fn offsets_mean_what_their_reference_says() {
    let part = |attributes: &str, pattern: &str| {
        format!("<SubSequence {attributes}><Sequence>{pattern}</Sequence></SubSequence>")
    };
    let cases = [
        ("BOFoffset", part("SubSeqMinOffset='3' SubSeqMaxOffset='5'", "41"), "beginning {3-5}41"),
        ("BOFoffset", part("SubSeqMinOffset='3'", "41"), "beginning {3-3}41"),
        ("BOFoffset", part("", "41"), "beginning {0-0}41"),
        ("BOFoffset", part("SubSeqMinOffset='30' SubSeqMaxOffset='0'", "41"), "beginning {30-30}41"),
        ("BOFoffset", part("SubSeqMinOffset='3' SubSeqMaxOffset='5'", "{4} 41 {2}"), "beginning {7-9}41{1-1}.."),
        (
            "BOFoffset",
            // The positions are not to be trusted; the order is.
            part("Position='2' SubSeqMaxOffset='9'", "41")
                + &part("Position='0'", "42")
                + &part("SubSeqMinOffset='2' SubSeqMaxOffset='4'", "43"),
            "beginning {0-9}41{0-*}42{2-4}43",
        ),
        (
            "Variable",
            part("SubSeqMinOffset='3' SubSeqMaxOffset='5'", "41") + &part("SubSeqMaxOffset='5'", "42"),
            "beginning {3-*}41{0-5}42",
        ),
        ("EOFoffset", part("SubSeqMinOffset='3' SubSeqMaxOffset='5'", "41"), "end {3-5}41"),
        ("EOFoffset", part("SubSeqMinOffset='3'", "41 ?? ??"), "end {5-5}41"),
        (
            "EOFoffset",
            part("SubSeqMinOffset='1' SubSeqMaxOffset='2'", "41")
                + &part("SubSeqMinOffset='3'", "{1-2} 42")
                + &part("SubSeqMaxOffset='6'", "43"),
            "end {0-6}43{3-*}42{2-4}41",
        ),
    ];
    for (reference, parts, expected) in cases {
        let sequence = format!("<ByteSequence Reference='{reference}'>{parts}</ByteSequence>");
        let set = read(&with_signature(&sequence)).expect(&sequence);
        assert_eq!(set.signatures[0].sequences.iter().map(shown).collect::<Vec<_>>(), [expected], "{sequence}");
    }
}

#[test]
fn fragments_stand_at_their_position_whatever_their_order() {
    let sequence = |fragments: &str| {
        with_signature(&format!(
            "<ByteSequence Reference='BOFoffset'><SubSequence SubSeqMinOffset='0' SubSeqMaxOffset='0'>{fragments}\
             <Sequence>41</Sequence></SubSequence></ByteSequence>"
        ))
    };
    let cases = [
        (
            "<RightFragment Position='2' MinOffset='1'>43</RightFragment>\
             <RightFragment Position='1' MinOffset='20' MaxOffset='30'>42</RightFragment>",
            "beginning {0-0}41{20-30}42{1-*}43",
        ),
        (
            "<LeftFragment Position='1' MaxOffset='5'>40</LeftFragment><LeftFragment Position='2' MaxOffset='6'>3F\
             </LeftFragment>",
            "beginning {0-0}3F{0-6}40{0-5}41",
        ),
        (
            "<RightFragment Position='1' MaxOffset='0'>[00:FF]42</RightFragment>\
             <RightFragment Position='1' MaxOffset='0'>(43|44)</RightFragment>",
            "beginning {0-0}41..42|4143|4144",
        ),
    ];
    for (fragments, expected) in cases {
        let set = read(&sequence(fragments)).expect(fragments);
        assert_eq!(set.signatures[0].sequences.iter().map(shown).collect::<Vec<_>>(), [expected], "{fragments}");
    }
    let contradictions = [
        (
            "<LeftFragment Position='1' MaxOffset='5'>40</LeftFragment><LeftFragment Position='1' MaxOffset='6'>3F\
             </LeftFragment>",
            "different offsets",
        ),
        ("<LeftFragment Position='1' MinOffset='6' MaxOffset='5'>40</LeftFragment>", "below its minimum"),
        (
            "<LeftFragment Position='1' MaxOffset='5'>40 * 41</LeftFragment><LeftFragment Position='1' MaxOffset='5'>3F\
             </LeftFragment>",
            "a variable gap",
        ),
    ];
    for (fragments, part) in contradictions {
        let error = read(&sequence(fragments)).expect_err(fragments);
        let is_right = matches!(&error, PronomError::Inconsistent { what, reason } if what == "signature 1" && reason.contains(part));
        assert!(is_right, "{fragments}: {error}");
    }
}

#[test]
fn contradictions_that_would_make_answers_wrong_are_refused() {
    let cases = [
        (r#"ID="10""#, r#"ID="20""#, "signature 20: there are two"),
        (r#"ID="901""#, r#"ID="902""#, "format 902: there are two"),
        (r#"PUID="fmt/1""#, r#"PUID="fmt/2""#, "format fmt/2: there are two"),
        ("<InternalSignatureID>20<", "<InternalSignatureID>21<", "format fmt/1: its signature 21"),
        ("OverFileFormatID>902<", "OverFileFormatID>901<", "format fmt/1: its priorities lead back"),
        (r#"SubSeqMinOffset="4""#, r#"SubSeqMinOffset="9000000000000""#, "an offset is larger"),
    ];
    for (from, to, expected) in cases {
        assert!(BINARY.contains(from), "{from}");
        let error = read(&BINARY.replacen(from, to, 1)).expect_err(to);
        assert!(matches!(error, PronomError::Inconsistent { .. }) && error.to_string().contains(expected), "{error}");
    }
    let round = BINARY.replace(
        "<InternalSignatureID>10<",
        "<HasPriorityOverFileFormatID>901</HasPriorityOverFileFormatID><InternalSignatureID>10<",
    );
    let error = read(&round).expect_err("two formats outrank each other").to_string();
    assert!(error.contains("lead back"), "{error}");
    let error = read_both(&CONTAINERS.replace(r#"Id="2000""#, r#"Id="1000""#)).expect_err("two of one id").to_string();
    assert!(error.contains("container signature 1000: there are two"), "{error}");
}

#[test]
fn what_can_tell_no_format_is_left_out_and_listed() {
    let ownerless = BINARY.replace("<InternalSignatureID>10</InternalSignatureID>", "");
    assert_eq!(read(&ownerless).expect("harmless").skipped, ["signature 10 belongs to no format"]);
    assert_eq!(read(&with_signature("")).expect("harmless").skipped, ["signature 1 has no sequences"]);
    let of_nothing = read(&BINARY.replace("ID>902<", "ID>77<")).expect("harmless");
    assert!(of_nothing.formats.iter().all(|format| format.outranks.is_empty()));
    let unmapped = read_both(&CONTAINERS.replace(r#"signatureId="1000""#, r#"signatureId="3000""#)).expect("harmless");
    assert!(unmapped.skipped.contains(&"container signature 1000 belongs to no format".to_owned()), "{unmapped:?}");
}

#[test]
fn a_signature_of_two_formats_tells_both() {
    let shared = BINARY.replace(
        "<InternalSignatureID>20</InternalSignatureID>",
        "<InternalSignatureID>10</InternalSignatureID><InternalSignatureID>20</InternalSignatureID>",
    );
    let owners: Vec<(u32, u32)> =
        read(&shared).expect("right").signatures.iter().map(|signature| (signature.id, signature.format)).collect();
    assert_eq!(owners, [(10, 1), (10, 2), (20, 1)]);
}

#[test]
fn xml_that_is_no_signature_file_is_refused_with_its_place() {
    let place = |text: &str| BINARY.find(text).expect("it is there");
    let cases: Vec<(String, usize, &str)> = vec![
        (String::new(), 0, "no element"),
        ("text".to_owned(), 0, "no element"),
        (CONTAINERS.to_owned(), CONTAINERS.find("<ContainerSignatureMapping").expect("root"), "the root element is"),
        (BINARY.replace(r#" Version="7""#, ""), place("<FFSignatureFile"), "no attribute \"Version\""),
        (BINARY.replace(r#"ID="20""#, r#"ID="x""#), place("<InternalSignature ID"), "is no number"),
        (BINARY.replace(r#"ID="20""#, r#"ID="20" x:ID="3""#), place("<InternalSignature ID"), "two attributes"),
        (BINARY.replace(r#" PUID="fmt/1""#, ""), place(r#"<FileFormat ID="901""#), "without a PUID"),
        (BINARY.replace("EOFoffset", "IndirectEOFoffset"), place(r#"<ByteSequence Reference="EOF"#), "no reference"),
        (
            BINARY.replace("<Sequence>3B</Sequence>", ""),
            place(r#"<SubSequence Position="1" SubSeqMinOffset="0" SubSeqMaxOffset="4""#),
            "without a pattern",
        ),
        (
            BINARY.replace("<Sequence>3B</Sequence>", "<Sequence>3B<b/></Sequence>"),
            place(">3B<") + 3,
            "an element within",
        ),
        (BINARY.replace("&amp;", "&other;"), place(r#"<FileFormat ID="900""#), "other"),
        (BINARY.replace("464D54", "46&other;54"), place("464D54") + 2, "unknown entity \"other\""),
        (BINARY.replacen("<FFS", "<!DOCTYPE a [<!ENTITY b 'c'>]><FFS", 1), place("<FFS"), "document type"),
        (BINARY.replacen("UTF-8", "ISO-8859-1", 1), 0, "only UTF-8"),
        (BINARY[..place("</FileFormatCollection")].to_owned(), place("</FileFormatCollection"), "ends within"),
        (format!("{BINARY}<a/>"), BINARY.len(), "second root"),
        (format!("<FFSignatureFile Version='1'>{}", "<a>".repeat(100_000)), 29 + 63 * 3, "too many elements"),
    ];
    for (text, place, expected) in cases {
        let error = read(&text).expect_err(expected);
        let PronomError::Xml { what, reason, position } = &error else { panic!("{expected}: {error}") };
        assert_eq!((what.as_str(), *position), ("binary signature file", place as u64), "{error}");
        assert!(reason.contains(expected), "{expected}: {error}");
    }
    let kind = read_both(&CONTAINERS.replace(r#""OLE2"><F"#, r#""TAR"><F"#)).expect_err("no such kind").to_string();
    assert!(kind.contains("\"TAR\" is no kind of container"), "{kind}");
    let misspelt = read(&BINARY.replace("464D54", "464D5")).expect_err("half a byte").to_string();
    assert_eq!(misspelt, r#"signature 10: pattern "464D5": a byte has two hex digits, at character 5"#);
}

#[test]
fn encodings_other_than_utf8_are_refused() {
    let utf16: Vec<u8> = [0xFE, 0xFF].into_iter().chain(BINARY.bytes().flat_map(|byte| [0, byte])).collect();
    let latin1: Vec<u8> =
        BINARY.replace("more", "m\u{1}re").bytes().map(|byte| if byte == 1 { 0xF6 } else { byte }).collect();
    for (bytes, expected) in [(utf16, "UTF-16"), (latin1, "not UTF-8")] {
        let error = xml::read(Document { name: Some("own.xml"), bytes: &bytes }, None).expect_err(expected).to_string();
        assert!(error.starts_with("own.xml: ") && error.contains(expected), "{error}");
    }
}

#[test]
fn marks_line_ends_and_prefixes_change_nothing() {
    let plain = read(BINARY).expect("it is right");
    let prefixed = BINARY.replace("xmlns=", "xmlns:ID='urn:x' xmlns:p=").replace('<', "<p:").replace("<p:/", "</p:");
    let prefixed = prefixed.replace("<p:?", "<?").replace("<p:!", "<!");
    for variant in [format!("\u{feff}{BINARY}"), BINARY.replace('\n', "\r\n"), prefixed] {
        let mut set = read(&variant).expect(&variant);
        set.binary.sha256.clone_from(&plain.binary.sha256);
        assert_eq!(set, plain, "{variant}");
    }
}

#[test]
fn patterns_that_come_to_too_much_are_refused() {
    let hostile = format!("{}{}", "(00|01)".repeat(6), "00".repeat(200)).repeat(5);
    let part = format!("<ByteSequence><SubSequence><Sequence>{hostile}</Sequence></SubSequence></ByteSequence>");
    let error = read(&with_signature(&part.repeat(80))).expect_err("too much").to_string();
    assert!(error.contains("all patterns come to more than"), "{error}");
}

#[test]
fn the_signatures_that_ship_are_those_their_page_names() {
    let page = std::fs::read_to_string(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("data/README.md")).expect("page");
    let set = builtin::signatures().expect("they are whole");
    let container = set.container.as_ref().expect("both were given");
    for release in [&set.binary, container] {
        let row = format!("| `{}.xml` | {} | `{}` |", release.name, release.version, release.sha256);
        assert!(page.lines().any(|line| line == row), "{row}");
    }
    let counts = format!(
        "Together: {} formats, {} byte signatures, {} container signatures.",
        set.formats.len(),
        set.signatures.len(),
        set.containers.len()
    );
    assert!(page.contains(&counts), "{counts}");
    assert!(page.contains("> Contains public sector information licensed under the Open Government Licence v3.0."));
    assert_eq!((set.formats.len(), set.signatures.len(), set.containers.len()), (2571, 2273, 310));
    assert!(set.skipped.is_empty(), "{:?}", set.skipped);
    let triggers: Vec<&str> =
        set.triggers.iter().map(|(_, format)| set.formats[*format as usize].puid.as_str()).collect();
    assert_eq!(triggers, ["fmt/111", "x-fmt/263", "fmt/189"]);
}

#[test]
fn every_signature_of_an_older_pair_is_read() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/fixtures/pronom");
    let file = |name: &str| std::fs::read(folder.join(name)).ok();
    let names = ["DROID_SignatureFile_V122.xml", "container-signature-20260119.xml"];
    let (Some(binary), Some(container)) = (file(names[0]), file(names[1])) else {
        println!(
            "SKIPPED: the signature files of 2026-01-19 are not at hand in the folder of fixtures beside the project"
        );
        return;
    };
    let set = xml::read(
        Document { name: Some(names[0]), bytes: &binary },
        Some(Document { name: Some(names[1]), bytes: &container }),
    )
    .expect("it is right");
    assert_eq!((set.formats.len(), set.signatures.len(), set.containers.len()), (2544, 2242, 310));
    assert!(set.skipped.is_empty(), "{:?}", set.skipped);
    let sequences: Vec<&Sequence> = set.signatures.iter().flat_map(|signature| &signature.sequences).collect();
    let from_end = sequences.iter().filter(|sequence| sequence.anchor == Anchor::End).count();
    let anywhere = sequences
        .iter()
        .filter(|sequence| sequence.anchor == Anchor::Beginning && sequence.links[0].gap.max.is_none())
        .count();
    assert_eq!((sequences.len(), from_end, anywhere), (2643, 295, 98));
    let edges: usize = set.formats.iter().map(|format| format.outranks.len()).sum();
    assert_eq!(edges, 1216);
    assert_eq!(compiled::decode(&compiled::encode(&set).expect("it fits")).expect("it is whole"), set);
}

/// Changes some bytes, takes some away, repeats some.
pub(crate) fn mutated(bytes: &[u8], changes: &[(usize, u8, u8)]) -> Vec<u8> {
    let mut mutated = bytes.to_vec();
    for (place, kind, value) in changes {
        let place = place % mutated.len().max(1);
        match kind {
            0 => mutated.truncate(place),
            1 => mutated.drain(place..(place + usize::from(*value)).min(mutated.len())).for_each(drop),
            2 => mutated.extend_from_within(place..(place + usize::from(*value)).min(mutated.len())),
            _ if place < mutated.len() => mutated[place] = *value,
            _ => {}
        }
    }
    mutated
}

pub(crate) fn changes() -> impl Strategy<Value = Vec<(usize, u8, u8)>> {
    prop::collection::vec((0..100_000_usize, 0..20_u8, any::<u8>()), 1..6)
}

proptest! {
    #[test]
    fn a_mutated_signature_file_is_read_or_refused(changes in changes(), is_container in any::<bool>()) {
        let (binary, container) = (BINARY.as_bytes(), CONTAINERS.as_bytes());
        let mutation = mutated(if is_container { container } else { binary }, &changes);
        let (binary, container) = if is_container { (binary, mutation.as_slice()) } else { (mutation.as_slice(), container) };
        let document = |bytes| Document { name: None, bytes };
        if let Ok(set) = xml::read(document(binary), Some(document(container))) {
            let bytes = compiled::encode(&set).expect("what was read can be written");
            prop_assert_eq!(compiled::decode(&bytes).expect("what was written can be read"), set);
        }
    }
}
