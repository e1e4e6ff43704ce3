//! A registry in PostgreSQL as lines that can be compared with those of another: everything but identifiers, times and what
//! is made of them.

use std::collections::BTreeMap;

use strongroom_database::testing::Scratch;

/// Lines of a difference that are shown of each side.
const MOST_SHOWN: usize = 20;

/// Kind of record and how its lines are made, one text for each row. Paths and names stand for identifiers. The record of a
/// version names identifiers, so that its digest differs from run to run; its size does not.
const RECORDS: [(&str, &str); 14] = [
    ("institution", "SELECT concat_ws('|', identifier, name, state) FROM institutions"),
    (
        "object",
        "SELECT concat_ws('|', identifier, state, title, access, placement, profile, source_organization, head, files,
            bytes) FROM objects",
    ),
    (
        "version",
        "SELECT concat_ws('|', o.identifier, v.number, v.state, v.message, v.user_name, v.files, v.bytes)
         FROM versions v JOIN objects o ON o.id = v.object_id",
    ),
    (
        "file",
        "SELECT concat_ws('|', o.identifier, f.path, e.version, c.size,
            CASE WHEN f.path LIKE 'metadata/%' THEN '' ELSE encode(c.sha512, 'hex') || encode(c.md5, 'hex') END,
            e.puid, e.mime, e.format_method, e.format_basis)
         FROM entries e JOIN files f ON f.id = e.file_id JOIN objects o ON o.id = e.object_id
         LEFT JOIN contents c ON c.id = e.content_id",
    ),
    (
        "copy",
        "SELECT concat_ws('|', o.identifier, min(f.path), count(*), p.store, p.class, p.state)
         FROM copies p JOIN contents c ON c.id = p.content_id JOIN objects o ON o.id = c.object_id
         LEFT JOIN entries e ON e.content_id = c.id LEFT JOIN files f ON f.id = e.file_id
         GROUP BY o.identifier, c.id, p.store, p.class, p.state",
    ),
    (
        "proof",
        "SELECT concat_ws('|', o.identifier, p.store, count(*), count(p.verified_at))
         FROM copies p JOIN objects o ON o.id = p.object_id GROUP BY o.identifier, p.store",
    ),
    (
        "inventory",
        "SELECT concat_ws('|', o.identifier, p.store, p.state) FROM object_copies p JOIN objects o ON o.id = p.object_id",
    ),
    (
        "event",
        "SELECT concat_ws('|', coalesce(o.identifier, '-'), coalesce(f.path, '-'),
            coalesce((SELECT min(g.path) FROM entries e JOIN files g ON g.id = e.file_id WHERE e.content_id = v.content_id), '-'),
            v.version, v.type, v.components, v.outcome, v.agent, count(*))
         FROM events v LEFT JOIN objects o ON o.id = v.object_id LEFT JOIN files f ON f.id = v.file_id
         GROUP BY o.identifier, f.path, v.content_id, v.version, v.type, v.components, v.outcome, v.agent",
    ),
    (
        "item",
        "SELECT concat_ws('|', object_identifier, action, name, source, etag, size, stage, status, needs_review, version)
         FROM work_items",
    ),
    ("batch", "SELECT concat_ws('|', type, state, submitted_by, count(*)) FROM batches GROUP BY type, state, submitted_by"),
    (
        "message",
        "SELECT concat_ws('|', w.object_identifier, m.kind, count(*))
         FROM outbox m LEFT JOIN work_items w ON w.id = m.item_id GROUP BY w.object_identifier, m.kind",
    ),
    ("upload", "SELECT concat_ws('|', store, key, etag, size, state) FROM uploads"),
    ("receipt", "SELECT concat_ws('|', store, key, etag) FROM receipts"),
    // What nothing may be left of.
    (
        "leftover",
        "SELECT concat_ws('|', 'a finding', store, key, state) FROM findings
         UNION ALL SELECT 'an interim file ' || path FROM interim_files
         UNION ALL SELECT 'an interim fact ' || name FROM interim_facts
         UNION ALL SELECT 'a reservation' FROM reservations
         UNION ALL SELECT 'a wait for space' FROM staging_waits
         UNION ALL SELECT 'a cursor of ' || store FROM receiving_cursors
         UNION ALL SELECT 'a version ' || state FROM versions WHERE state <> 'published'",
    ),
];

/// Fails and shows the first lines in which two registries differ.
#[track_caller]
pub(crate) fn assert_alike(is: &[String], should_be: &[String], what: &str) {
    let count = |lines: &[String]| {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for line in lines {
            *counts.entry(line.clone()).or_default() += 1;
        }
        counts
    };
    let (is, should_be) = (count(is), count(should_be));
    let only = |one: &BTreeMap<String, usize>, other: &BTreeMap<String, usize>, sign: &str| -> Vec<String> {
        let differs = one.iter().filter(|(line, times)| other.get(*line) != Some(times));
        differs.map(|(line, times)| format!("{sign} {times} times: {line}")).take(MOST_SHOWN).collect()
    };
    let difference = [only(&should_be, &is, "-"), only(&is, &should_be, "+")].concat();
    assert!(difference.is_empty(), "{what}: {difference:#?}");
}

/// The registry as lines in order.
pub(crate) fn dump(scratch: &Scratch) -> Vec<String> {
    let mut client = scratch.client();
    let mut lines = Vec::new();
    for (kind, query) in RECORDS {
        for row in client.query(query, &[]).unwrap() {
            let text: String = row.get(0);
            lines.push(format!("{kind} {text}"));
        }
    }
    lines.sort_unstable();
    lines
}
