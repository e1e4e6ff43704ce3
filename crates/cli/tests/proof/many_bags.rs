//! Many bags through a watched bucket while processes are killed: three workers and a schedule on one PostgreSQL, two stores
//! in a bucket and one in a folder. Whatever is killed whenever, in the end there is what one process leaves that nobody
//! disturbs, and nothing else.
//!
//! `STRONGROOM_PROOF_BAGS` says how many bags (without it few, for the time it takes), and `STRONGROOM_PROOF_SEED` repeats
//! the choices of a run, though not its moments.

use std::fmt::Write as _;
use std::hash::{BuildHasher as _, RandomState};
use std::time::{Duration, Instant};

use strongroom_digest::{Algorithm, MultiHasher};
use strongroom_queue::tasks;

use crate::buckets::{World, change_settings, copy_out, keys_below, watch_closely};
use crate::dump::{assert_alike, dump};
use crate::homes::{Running, nothing_is_left, open};

/// Enough that every stage meets kills.
const FEW: usize = 60;
/// How long nothing at all may be finished before the test fails. Nothing is measured by it.
const PATIENCE: Duration = Duration::from_mins(1);
/// What each process runs that is killed and started again.
const PROCESSES: [&[&str]; 4] = [&["-q", "work"], &["-q", "work"], &["-q", "work"], &["-q", "schedule"]];
/// The longest that nobody is killed, in milliseconds.
const LONGEST_CALM: u64 = 1_500;

/// What is not taken in, and why.
const STUCK: &str = "SELECT concat_ws('|', u.key, u.state, u.note, w.id, w.stage, w.status, w.note, w.holder)
    FROM uploads u LEFT JOIN work_items w ON w.id = u.item_id WHERE u.state <> 'removed' LIMIT 20";

/// An upload: keys within the institution's place, with their bytes.
type Upload = Vec<(String, Vec<u8>)>;

pub(crate) fn number_from(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{variable} is no number: {text}")))
}

/// A small bag; one that is to be an archive keeps APTrust's profile, one that is to be a folder none.
fn make_bag(number: usize, is_archive: bool) -> Vec<(String, Vec<u8>)> {
    let says = ["yes", "no", "perhaps"][number % 3];
    let letters = (0..=number % 3).map(|letter| {
        (format!("data/letter {letter}.txt"), format!("letter {letter}: {says}\n").repeat(1 + number % 20))
    });
    let mut files: Vec<(String, String)> = letters.collect();
    let mut manifest = String::new();
    for (path, text) in &files {
        let mut hasher = MultiHasher::new(&[Algorithm::Md5]);
        hasher.update(text.as_bytes());
        writeln!(manifest, "{}  {path}", hasher.finish().get(Algorithm::Md5).unwrap().to_hex()).unwrap();
    }
    let mut describe = |path: &str, text: &str| files.push((path.to_owned(), text.to_owned()));
    describe("bagit.txt", "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n");
    describe("bag-info.txt", "Source-Organization: Example University\n");
    describe("manifest-md5.txt", &manifest);
    if is_archive {
        describe("aptrust-info.txt", "Title: Letters\nAccess: Institution\nStorage-Option: Standard\n");
    }
    let name = format!("letters-{number:04}");
    files.into_iter().map(|(path, text)| (format!("{name}/{path}"), text.into_bytes())).collect()
}

/// Bags, every sixth of which is a folder.
fn make_uploads(count: usize) -> Vec<Upload> {
    let make = |number: usize| {
        let is_archive = number % 6 != 5;
        let bag = make_bag(number, is_archive);
        if !is_archive {
            return bag;
        }
        let mut archive = tar::Builder::new(Vec::new());
        for (path, bytes) in bag {
            let mut header = tar::Header::new_gnu();
            header.set_size(bytes.len() as u64);
            header.set_mode(0o644);
            archive.append_data(&mut header, path, bytes.as_slice()).unwrap();
        }
        vec![(format!("letters-{number:04}.tar"), archive.into_inner().unwrap())]
    };
    (0..count).map(make).collect()
}

impl World {
    fn that_watches_closely() -> Option<Self> {
        let world = Self::of_three_stores()?;
        watch_closely(&world.place, "");
        // Each kill costs an attempt, as it should; here there may be many in one stage.
        change_settings(&world.place, "[workers.default]\n", "[workers.default]\nmax_attempts = 1000\n");
        Some(world)
    }

    fn lay(&self, uploads: &[Upload]) {
        for (key, bytes) in uploads.iter().flatten() {
            self.double.lay(&format!("receiving/example.edu/{key}"), bytes);
        }
    }

    /// Lets `between` act until every upload is taken in and nothing is left to do.
    fn work(&self, uploads: usize, mut between: impl FnMut()) {
        let home = open(&self.place);
        let mut client = self.scratch.client();
        let (mut begun, mut last) = (Instant::now(), (0, 0));
        loop {
            between();
            let removed = client.query_one("SELECT count(*) FROM uploads WHERE state = 'removed'", &[]).unwrap().get(0);
            let counts = home.registry.read(|tx| tasks::counts(tx)).unwrap();
            let waiting = counts.iter().map(|topic| topic.ready + topic.delayed + topic.leased).sum();
            let now: (i64, u64) = (removed, waiting);
            if now == (i64::try_from(uploads).unwrap(), 0) {
                return;
            }
            if now != last {
                (begun, last) = (Instant::now(), now);
            }
            if begun.elapsed() > PATIENCE {
                let rows = client.query(STUCK, &[]).unwrap();
                let stuck: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
                panic!("nothing moves: {removed} of {uploads} taken in, {waiting} tasks: {stuck:#?}");
            }
        }
    }

    /// What must hold of either run, and what two runs must have in common.
    fn end_state(&self, uploads: usize) -> Vec<String> {
        let (place, double) = (&self.place, &self.double);
        nothing_is_left(place);
        for topic in place.run(["queue", "list", "--json"]).succeeds().json() {
            assert_eq!(topic["dead"], 0, "{topic}");
        }
        assert_eq!(keys_below(double, "receiving/example.edu/"), Vec::<String>::new());
        assert_eq!(keys_below(double, "quarantine/example.edu/"), Vec::<String>::new());
        assert_eq!(double.uploads(), Vec::<String>::new(), "uploads in parts are under way");
        let told = place.run(["store", "reconcile", "--json"]).succeeds();
        assert_eq!(told.stdout, "", "what only one side knows");
        let round = place.run(["fixity", "run", "--all", "--json"]).succeeds().object();
        assert_eq!(round["passed"], round["checked"], "{round}");
        assert_eq!((&round["damaged"], &round["failed"], &round["postponed"]), (&0.into(), &0.into(), &0.into()));
        for store in ["primary", "secondary"] {
            copy_out(double, &format!("{store}/example.edu/"), &place.path(&format!("out/{store}")));
            place.run(["ocfl", "validate", &format!("out/{store}")]).succeeds();
        }
        place.run(["ocfl", "validate", "home/stores/third/example.edu"]).succeeds();
        let mut state = dump(&self.scratch);
        // Which copies one row of passed checks has, and when each was read, depends on the moment.
        state.retain(|line| !line.contains("|fixity check|{\"passed\""));
        let of = |kind: &str| state.iter().filter(|line| line.starts_with(kind)).count();
        assert_eq!((of("object "), of("version ")), (uploads, uploads), "each bag is one object of one version");
        state
    }
}

/// Numbers that look random and are the same for the same seed (`SplitMix64`, Steele, Lea and Flood 2014).
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}

/// Puts the uploads into the bucket bit by bit and has processes work on them, of which one after another is killed.
fn work_among_kills(world: &World, uploads: &[Upload], seed: u64) {
    let mut chance = Chance(seed);
    let mut waiting = uploads;
    let mut kills = 0;
    let start = |which: usize| Running::logged(&world.place, PROCESSES[which], &format!("log {which}"));
    let mut running: Vec<Option<Running>> = (0..PROCESSES.len()).map(|which| Some(start(which))).collect();
    world.work(uploads.len(), || {
        let some = usize::try_from(chance.below(1 + uploads.len() as u64 / 5)).unwrap().min(waiting.len());
        let (now, later) = waiting.split_at(some);
        waiting = later;
        world.lay(now);
        // Not a wait for anything: the moment is the point.
        std::thread::sleep(Duration::from_millis(chance.below(LONGEST_CALM)));
        let which = usize::try_from(chance.below(PROCESSES.len() as u64)).unwrap();
        if let Some(victim) = running[which].take() {
            victim.kill();
            kills += 1;
        }
        // Every other one stays away until it is chosen again.
        if chance.below(2) == 0 || running.iter().all(Option::is_none) {
            running[which] = Some(start(which));
        }
        for (which, one) in running.iter_mut().enumerate() {
            if one.is_none() && chance.below(2) == 0 {
                *one = Some(start(which));
            }
        }
    });
    println!("{kills} kills");
    for one in running.into_iter().flatten() {
        assert_eq!(one.terminate().code(), Some(0));
    }
}

#[test]
fn bags_deposited_while_processes_are_killed_end_as_those_that_nobody_disturbs() {
    let (Some(world), Some(quiet)) = (World::that_watches_closely(), World::that_watches_closely()) else { return };
    let count = number_from("STRONGROOM_PROOF_BAGS").map_or(FEW, |count| usize::try_from(count).unwrap());
    let seed = number_from("STRONGROOM_PROOF_SEED").unwrap_or_else(|| RandomState::new().hash_one(count));
    println!("{count} bags, seed {seed}");
    let uploads = make_uploads(count);

    let began = Instant::now();
    quiet.lay(&uploads);
    let serving = Running::logged(&quiet.place, &["-q", "serve"], "log");
    quiet.work(count, || std::thread::park_timeout(Duration::from_millis(50)));
    assert_eq!(serving.terminate().code(), Some(0));
    println!("one process: {:?}", began.elapsed());
    let undisturbed = quiet.end_state(count);
    println!("and looked at: {:?}", began.elapsed());

    let began = Instant::now();
    work_among_kills(&world, &uploads, seed);
    println!("among kills: {:?}", began.elapsed());
    let disturbed = world.end_state(count);
    println!("and looked at: {:?}", began.elapsed());
    assert_alike(&disturbed, &undisturbed, &format!("seed {seed}"));
}
