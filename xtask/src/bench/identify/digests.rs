//! What an identification costs where bytes are read for their digests anyway: the four that are recorded, alone and with
//! an identification on the same pass, in this process.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use nix::sys::resource::{UsageWho, getrusage};
use strongroom_digest::{Algorithm, HashingReader};
use strongroom_pronom::{FileSource, Identifier, Observed, Options};

use super::material::{Material, walk};

/// Each is measured so often, in turn; the best counts.
const TIMES: u32 = 4;
/// Of the files of mixed formats.
const MIXED_FILES: usize = 2_000;
const MIXED_SIZE: usize = 100_000;
/// Bytes that are read at once.
const BLOCK: usize = 64 << 10;

/// Measures the large files among what was measured before, one of noise alone, and many of mixed formats.
pub(super) fn run<'m>(folder: &Path, before: impl Iterator<Item = &'m Material>) -> Result<()> {
    let identifier = Identifier::builtin()?;
    let noise = Material::noise(folder, "noise.bin", b"")?;
    let mixed = mixed(folder)?;
    println!("| four digests | alone s | with identification s | adds | alone cpu s | with it cpu s | adds | aim |");
    println!("|---|---|---|---|---|---|---|---|");
    let large: Vec<&Material> = before.filter(|material| material.files == 1).collect();
    for material in large.into_iter().chain([&noise, &mixed]) {
        let mut paths = Vec::new();
        walk(&material.path, &mut |path, _| paths.push(path.to_owned()));
        let (mut alone, mut with) = (Spent::MOST, Spent::MOST);
        for _ in 0..TIMES {
            alone = alone.least(pass(&paths, None)?);
            with = with.least(pass(&paths, Some(&identifier))?);
        }
        println!(
            "| {} | {:.3} | {:.3} | {} | {:.3} | {:.3} | {} | <= +10 % |",
            material.path.file_name().unwrap_or_default().to_string_lossy(),
            alone.wall.as_secs_f64(),
            with.wall.as_secs_f64(),
            added(alone.wall, with.wall),
            alone.cpu.as_secs_f64(),
            with.cpu.as_secs_f64(),
            added(alone.cpu, with.cpu),
        );
    }
    Ok(())
}

/// Time on the clock, and of the processors. The latter says more on a machine that has other work.
#[derive(Clone, Copy)]
struct Spent {
    wall: Duration,
    cpu: Duration,
}

impl Spent {
    const MOST: Self = Self { wall: Duration::MAX, cpu: Duration::MAX };

    fn least(self, other: Self) -> Self {
        Self { wall: self.wall.min(other.wall), cpu: self.cpu.min(other.cpu) }
    }
}

fn added(alone: Duration, with: Duration) -> String {
    format!("{:+.1} %", (with.as_secs_f64() / alone.as_secs_f64() - 1.0) * 100.0)
}

/// What this process has used of the processors so far.
fn cpu() -> Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_SELF).context("cannot ask for the resources used")?;
    let microseconds = |time: nix::sys::time::TimeVal| (time.tv_sec() * 1_000_000 + time.tv_usec()) as u64;
    Ok(Duration::from_micros(microseconds(usage.user_time()) + microseconds(usage.system_time())))
}

/// Reads all files once.
fn pass(paths: &[PathBuf], identifier: Option<&Identifier>) -> Result<Spent> {
    let options = Options::default();
    let mut buffer = vec![0; BLOCK];
    let (begin, cpu_before) = (Instant::now(), cpu()?);
    for path in paths {
        let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
        let mut reader = HashingReader::new(&file, &Algorithm::RECORDED);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let mut observation = identifier.map(|identifier| identifier.observe(&name, &options));
        loop {
            let count = reader.read(&mut buffer)?;
            if count == 0 {
                break;
            }
            if let Some(observation) = &mut observation {
                observation.update(&buffer[..count]);
            }
        }
        let digests = reader.finish();
        let identification = match observation.map(strongroom_pronom::Observation::finish) {
            None => None,
            Some(Observed::Complete(identification)) => Some(identification),
            Some(Observed::Container(pending)) => Some(pending.finish(&FileSource::new(file)?)?),
        };
        std::hint::black_box((digests, identification));
    }
    Ok(Spent { wall: begin.elapsed(), cpu: cpu()?.saturating_sub(cpu_before) })
}

/// Beginnings of this machine's files, all of one size.
fn mixed(folder: &Path) -> Result<Material> {
    let mut beginnings = Vec::new();
    walk(Path::new("/usr"), &mut |path, size| {
        if size >= MIXED_SIZE as u64 {
            beginnings.push(path.to_owned());
        }
    });
    let target = folder.join("mixed");
    fs::create_dir(&target)?;
    let step = (beginnings.len() / MIXED_FILES).max(1);
    for (number, path) in beginnings.iter().step_by(step).cycle().take(MIXED_FILES).enumerate() {
        let mut beginning = Vec::with_capacity(MIXED_SIZE);
        if let Ok(file) = File::open(path) {
            file.take(MIXED_SIZE as u64).read_to_end(&mut beginning)?;
        }
        beginning.resize(MIXED_SIZE, 0);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        fs::write(target.join(format!("{number:04}-{name}")), beginning)?;
    }
    Material::existing(target)
}
