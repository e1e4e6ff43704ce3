//! Identifies files named on standard input, one a line, and tells on standard error how long it took.

use std::io::BufRead;
use std::sync::mpsc;
use std::time::Instant;

use strongroom_pronom::{FileSource, Identifier, Options};

fn main() {
    let start = Instant::now();
    let set = strongroom_pronom::builtin::signatures().unwrap();
    eprintln!("decoded in {:?}", start.elapsed());
    let identifier = Identifier::new(set);
    eprintln!("ready in {:?}", start.elapsed());
    let paths: Vec<String> = std::io::stdin().lock().lines().map(Result::unwrap).collect();
    let start = Instant::now();
    let threads = 2;
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        for part in 0..threads {
            let (paths, identifier, sender) = (&paths, &identifier, sender.clone());
            scope.spawn(move || {
                for path in paths.iter().skip(part).step_by(threads) {
                    let t = Instant::now();
                    let Ok(file) = std::fs::File::open(path) else { continue };
                    let Ok(source) = FileSource::new(file) else { continue };
                    let answer = identifier.identify(path, &source, &Options::default()).unwrap();
                    sender.send((path.clone(), answer, t.elapsed())).unwrap();
                }
            });
        }
    });
    drop(sender);
    let took = start.elapsed();
    for (path, answer, t) in receiver {
        let puids: Vec<String> = answer.matches.iter().map(|one| format!("{}:{}{}", one.format.puid, one.method, if one.extension_mismatch { "!" } else { "" })).collect();
        let candidates: Vec<&str> = answer.candidates.iter().map(|one| one.puid.as_str()).collect();
        println!("{path}\t{}\t{}\t{:?}\t{}\t{}", puids.join(","), candidates.join(","), answer.warning(), t.as_micros(),answer.matches.first().map(|m|m.basis_text()).unwrap_or_default());
    }
    eprintln!("{} files in {took:?}: {:.0} files/s", paths.len(), paths.len() as f64 / took.as_secs_f64());
}
