//! Measures the reading, checking and writing of a manifest that it makes itself.
//!
//! `cargo run --release -p strongroom-checkm --example throughput [ROWS]`: 100,000 rows unless a number is given. The memory is the
//! highest of the process so far, as Linux counts it, so that it is that of the step, or of one before it that took more.

use std::fs::File;
use std::io::{BufReader, BufWriter, Seek, SeekFrom, Write};
use std::time::Instant;

use strongroom_checkm::{
    Checksum, Column, ManifestProfile, ManifestWriter, NewRow, ReadOptions, Reader, ValidateOptions, validate,
};
use strongroom_digest::{Algorithm, Digest};

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let rows: u64 = std::env::args().nth(1).map_or(Ok(100_000), |text| text.parse())?;
    let mut file = tempfile::tempfile()?;

    let begun = Instant::now();
    let digest = Digest::from_bytes(&[0xA7; 32])?;
    let checksum = Checksum::new(Algorithm::Sha256, digest).ok_or("not a SHA-256 digest")?;
    let mut writer = ManifestWriter::new(BufWriter::new(&mut file), ManifestProfile::Object, &[])?;
    for number in 0..rows {
        let name = format!("volume {}/page-{number:08}.tif", number / 1_000);
        let url = format!("https://files.example.org/{}", name.replace(' ', "%20"));
        let row = NewRow::new(&url).size(number).checksum(checksum);
        writer.row(&row.text(Column::FileName, &name).text(Column::MimeType, "image/tiff"))?;
    }
    writer.finish()?.flush()?;
    let bytes = file.metadata()?.len();
    tell("write, each row checked", rows, bytes, begun);

    file.seek(SeekFrom::Start(0))?;
    let begun = Instant::now();
    let mut report = |problem| eprintln!("{problem:?}");
    let mut reader = Reader::new(BufReader::with_capacity(256 << 10, &file), &ReadOptions::default(), &mut report)?;
    let mut read = 0;
    while reader.next_row(&mut report)?.is_some() {
        read += 1;
    }
    tell("read as a stream", read, bytes, begun);

    file.seek(SeekFrom::Start(0))?;
    let begun = Instant::now();
    let report = validate(BufReader::with_capacity(256 << 10, File::try_clone(&file)?), &ValidateOptions::default())?;
    tell("validate, names compared", report.rows, bytes, begun);
    Ok(())
}

fn tell(what: &str, rows: u64, bytes: u64, begun: Instant) {
    let seconds = begun.elapsed().as_secs_f64();
    println!(
        "{what}: {rows} rows, {:.1} MB in {seconds:.2} s: {:.1} MB/s, {:.0} rows/s, {}",
        bytes as f64 / 1e6,
        bytes as f64 / 1e6 / seconds,
        rows as f64 / seconds,
        peak_memory().unwrap_or_default()
    );
}

/// The most memory that the process had, as Linux tells it.
fn peak_memory() -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(format!("{} of memory at most", peak.trim()))
}
