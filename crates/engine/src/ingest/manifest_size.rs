//! How many bytes the files of a Checkm manifest have together: by its rows, and by the servers where rows do not say it. It is asked
//! for, several files at a time, within a limit of time; a size that cannot be had then is no failure.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use strongroom_download::{Client, Supervision};

use super::manifest::{ASKED_EVERY, AT_ONCE, FileRows, unread};
use crate::workflow::{StageContext, StageError};

/// Bytes that the files of a manifest have together; none where one file's are not known. `within` is how long servers are asked.
///
/// # Errors
/// The manifest cannot be read, or the stage is interrupted.
pub(crate) fn size(
    context: &StageContext<'_>,
    manifest: &mut File,
    within: Duration,
) -> Result<Option<u64>, StageError> {
    let mut rows = FileRows::new(manifest)?;
    let size = sum(context, &mut rows, within);
    drop(rows);
    manifest.seek(SeekFrom::Start(0)).map_err(unread)?;
    size
}

fn sum(context: &StageContext<'_>, rows: &mut FileRows<'_>, within: Duration) -> Result<Option<u64>, StageError> {
    let mut bytes = 0_u64;
    let mut questions: Option<Questions> = None;
    while let Some(row) = rows.next_row()? {
        context.task.check()?;
        if let Some(size) = row.size {
            bytes = bytes.saturating_add(size);
            continue;
        }
        if within.is_zero() {
            return Ok(None);
        }
        let questions = match &mut questions {
            Some(questions) => questions,
            none => none.insert(Questions::begin(context.home.downloads()?, within)),
        };
        // As many are asked for at a time as there are threads, and no more are remembered.
        if questions.open == AT_ONCE {
            match questions.answer(context)? {
                Some(size) => bytes = bytes.saturating_add(size),
                None => return Ok(None),
            }
        }
        questions.ask(row.url);
    }
    let Some(mut questions) = questions else { return Ok(Some(bytes)) };
    while questions.open > 0 {
        match questions.answer(context)? {
            Some(size) => bytes = bytes.saturating_add(size),
            None => return Ok(None),
        }
    }
    Ok(Some(bytes))
}

/// Files whose sizes are asked for, each by one of a few threads, which end soon after this is dropped.
struct Questions {
    ask: SyncSender<String>,
    answers: Receiver<Option<u64>>,
    /// Those that are not answered yet.
    open: usize,
    until: Instant,
    /// Dropped with the rest: then the threads stop.
    _is_wanted: Arc<()>,
}

impl Questions {
    fn begin(client: &Client, within: Duration) -> Self {
        let (ask, asked) = sync_channel::<String>(AT_ONCE);
        let (answer, answers) = sync_channel(AT_ONCE);
        let asked = Arc::new(Mutex::new(asked));
        let is_wanted = Arc::new(());
        for _ in 0..AT_ONCE {
            let (client, asked, answer) = (client.clone(), asked.clone(), answer.clone());
            let watched = Arc::downgrade(&is_wanted);
            std::thread::spawn(move || {
                loop {
                    let next = asked.lock().unwrap_or_else(PoisonError::into_inner).recv();
                    let Ok(url) = next else { return };
                    let watched = watched.clone();
                    let check =
                        move || if watched.upgrade().is_some() { Ok(()) } else { Err("it is not needed any more") };
                    let size = client.probe(&url, &Supervision::new(check)).ok().and_then(|probe| probe.size);
                    if answer.send(size).is_err() {
                        return;
                    }
                }
            });
        }
        Self { ask, answers, open: 0, until: Instant::now() + within, _is_wanted: is_wanted }
    }

    fn ask(&mut self, url: String) {
        // Where the threads are gone no answer comes, and the size is unknown.
        drop(self.ask.send(url));
        self.open += 1;
    }

    /// Waits for one of the answers; none where a size cannot be had, or not in time.
    fn answer(&mut self, context: &StageContext<'_>) -> Result<Option<u64>, StageError> {
        loop {
            context.task.check()?;
            let left = self.until.saturating_duration_since(Instant::now());
            match self.answers.recv_timeout(left.min(ASKED_EVERY)) {
                Ok(size) => {
                    self.open = self.open.saturating_sub(1);
                    return Ok(size);
                }
                Err(RecvTimeoutError::Timeout) if !left.is_zero() => {}
                Err(_) => return Ok(None),
            }
        }
    }
}
