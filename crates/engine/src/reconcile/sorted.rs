//! Lines in byte order, however many: sorted in memory up to a bound, beyond it in runs on disk that are merged on reading.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Seek, SeekFrom, Write};

/// Bytes of lines held in memory before they go to disk as a run.
const HELD: usize = 8 << 20;

/// Lines that are gathered. None has a line break in it.
#[derive(Default)]
pub(super) struct Gathered {
    lines: Vec<String>,
    bytes: usize,
    runs: Vec<File>,
}

impl Gathered {
    pub(super) fn add(&mut self, line: String) -> io::Result<()> {
        self.bytes += line.len() + size_of::<String>();
        self.lines.push(line);
        if self.bytes < HELD { Ok(()) } else { self.spill() }
    }

    fn spill(&mut self) -> io::Result<()> {
        self.lines.sort_unstable();
        let mut out = BufWriter::new(tempfile::tempfile()?);
        for line in self.lines.drain(..) {
            out.write_all(line.as_bytes())?;
            out.write_all(b"\n")?;
        }
        let mut file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.seek(SeekFrom::Start(0))?;
        self.runs.push(file);
        self.bytes = 0;
        Ok(())
    }

    /// The lines in byte order.
    pub(super) fn sorted(mut self) -> io::Result<Sorted> {
        self.spill()?;
        let mut sorted = Sorted { runs: self.runs.into_iter().map(BufReader::new).collect(), heads: BinaryHeap::new() };
        for run in 0..sorted.runs.len() {
            sorted.advance(run)?;
        }
        Ok(sorted)
    }
}

/// See [`Gathered::sorted`].
pub(super) struct Sorted {
    runs: Vec<BufReader<File>>,
    heads: BinaryHeap<Reverse<(String, usize)>>,
}

impl Sorted {
    fn advance(&mut self, run: usize) -> io::Result<()> {
        let Some(reader) = self.runs.get_mut(run) else { return Ok(()) };
        let mut line = String::new();
        if reader.read_line(&mut line)? > 0 {
            line.pop();
            self.heads.push(Reverse((line, run)));
        }
        Ok(())
    }
}

impl Iterator for Sorted {
    type Item = io::Result<String>;

    fn next(&mut self) -> Option<Self::Item> {
        let Reverse((line, run)) = self.heads.pop()?;
        match self.advance(run) {
            Ok(()) => Some(Ok(line)),
            Err(error) => Some(Err(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_in_byte_order_from_memory_and_from_runs() {
        for every in [1, 7, 1_000] {
            let mut gathered = Gathered::default();
            let mut lines: Vec<String> = (0..500_u32).map(|n| format!("{:03}/{n}", (n * 7919) % 501)).collect();
            for (number, line) in lines.iter().enumerate() {
                gathered.add(line.clone()).expect("adds");
                if number % every == 0 {
                    gathered.spill().expect("spills");
                }
            }
            lines.sort_unstable();
            let sorted: Vec<String> = gathered.sorted().expect("sorts").map(|line| line.expect("a line")).collect();
            assert_eq!(sorted, lines);
        }
    }
}
