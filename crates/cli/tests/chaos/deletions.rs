//! Deletions as people carry them out: one user requests one, again while something stands against it; another user approves it a while
//! later, and meanwhile people cancel it, deny it, place legal holds, and stop its work items. What was requested is known by the reason
//! that is given with it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::Value;

use crate::commands::Continuation;
use crate::deletion_plan::{End, ItemWish, Part, Planned};
use crate::perform::Cast;
use crate::promises::text;
use crate::world::{ADMINS, Answer, INSTITUTION};

/// The pause before a request or an approval is tried again.
const AGAIN: Duration = Duration::from_millis(350);

/// What is named by a request: paths as in the package by the identifier of the object; none: all of the object.
pub(crate) type Named = BTreeMap<String, Option<BTreeSet<String>>>;

/// Which answer comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Question {
    /// The files of the target with this number.
    Files(usize),
    Request,
    Approval,
    LegalHold,
    /// The work items, of which something is to be asked.
    Items(ItemWish),
}

/// Something that is done at its time.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Due {
    Request,
    Approve,
    End(End),
    PlaceHold,
    ReleaseHold(String),
    Ask(ItemWish),
}

/// A deletion and how far it is.
pub(crate) struct Deletion {
    planned: Planned,
    due: Vec<(Instant, Due)>,
    requests: u64,
    approvals: u64,
    /// What the next request names, as far as it is known; files are listed first.
    named: Named,
    request: Option<String>,
}

impl Deletion {
    pub(crate) fn new(planned: Planned) -> Self {
        let due = vec![(Instant::now(), Due::Request)];
        Self { planned, due, requests: 0, approvals: 0, named: Named::new(), request: None }
    }

    fn requester(&self) -> &'static str {
        ADMINS[self.planned.requester]
    }

    fn approver(&self) -> &'static str {
        ADMINS[1 - self.planned.requester]
    }

    fn object(&self, target: usize) -> String {
        format!("{INSTITUTION}/{}", self.planned.targets[target].object)
    }

    fn later(&mut self, pause: Duration, due: Due) {
        self.due.push((Instant::now() + pause, due));
    }

    /// What follows a request that was made.
    fn requested(&mut self, request: String) {
        self.request = Some(request);
        if self.planned.tries == 0 {
            return;
        }
        let planned = self.planned.clone();
        let milliseconds = Duration::from_millis;
        if let Some(at) = planned.approval {
            self.later(milliseconds(at), Due::Approve);
        }
        if let Some((at, end)) = planned.end {
            self.later(milliseconds(at), Due::End(end));
        }
        if let Some((from, _)) = planned.legal_hold {
            self.later(milliseconds(from), Due::PlaceHold);
        }
        for (at, wish) in planned.wishes {
            self.later(milliseconds(at), Due::Ask(wish));
        }
    }
}

impl Cast {
    /// Does what is due of the deletions.
    pub(crate) fn step_deletions(&mut self) {
        for number in 0..self.deletions.len() {
            let now = Instant::now();
            let due = &mut self.deletions[number].due;
            due.sort_by_key(|(at, _)| *at);
            let later = due.iter().position(|(at, _)| *at > now).unwrap_or(due.len());
            let now_due: Vec<Due> = due.drain(..later).map(|(_, due)| due).collect();
            for due in now_due {
                self.do_due(number, due);
            }
        }
    }

    /// Does nothing more of the deletions.
    pub(crate) fn end_deletions(&mut self) {
        for deletion in &mut self.deletions {
            deletion.due.clear();
            deletion.planned.tries = 0;
        }
    }

    fn do_due(&mut self, number: usize, due: Due) {
        let deletion = &mut self.deletions[number];
        let (requester, approver) = (deletion.requester(), deletion.approver());
        let request = deletion.request.clone().unwrap_or_default();
        match due {
            Due::Request => {
                deletion.requests += 1;
                deletion.named.clear();
                self.go_on_with_request(number);
            }
            Due::Approve => {
                deletion.approvals += 1;
                let (is_contested, slow) = (deletion.planned.is_contested, deletion.planned.slow.clone());
                let of_approver = ["--as", approver, "delete", "approve", &request, "--detach"];
                let approval = Continuation::Deletion(number, Question::Approval);
                if is_contested {
                    let of_requester = ["--as", requester, "delete", "approve", &request, "--detach"];
                    self.about_deletions.ask(&of_approver, Continuation::None);
                    self.about_deletions.ask(&of_requester, Continuation::None);
                }
                self.about_deletions.ask_with(&of_approver, &slow, approval);
            }
            Due::End(End::Cancel) => {
                self.about_deletions
                    .ask(&["--as", requester, "delete", "cancel", &request, "--reason", "chaos"], Continuation::None);
            }
            Due::End(End::Deny) => self
                .about_deletions
                .ask(&["--as", approver, "delete", "deny", &request, "--reason", "chaos"], Continuation::None),
            Due::PlaceHold => {
                let object = deletion.object(0);
                let hold = ["hold", "legal", "add", &object, "--reason", "chaos", "--json"];
                self.about_deletions.ask(&hold, Continuation::Deletion(number, Question::LegalHold));
            }
            Due::ReleaseHold(hold) => {
                self.about_deletions.ask(&["hold", "legal", "release", &hold, "--reason", "chaos"], Continuation::None);
            }
            Due::Ask(wish) => {
                let show = ["delete", "show", &request, "--json"];
                self.about_deletions.ask(&show, Continuation::Deletion(number, Question::Items(wish)));
            }
        }
    }

    /// Has the files of the next target listed, or makes the request.
    fn go_on_with_request(&mut self, number: usize) {
        let deletion = &mut self.deletions[number];
        for target in 0..deletion.planned.targets.len() {
            let object = deletion.object(target);
            if deletion.named.contains_key(&object) {
                continue;
            }
            let paths = match &deletion.planned.targets[target].part {
                Part::Whole => None,
                Part::Named(path) => Some(BTreeSet::from([path.clone()])),
                Part::Files(_) => {
                    let list = ["objects", "files", &object, "--json"];
                    return self.about_deletions.ask(&list, Continuation::Deletion(number, Question::Files(target)));
                }
            };
            deletion.named.insert(object, paths);
        }
        let reason = format!("deletion {}.{}", deletion.planned.number, deletion.requests);
        let (requester, named) = (deletion.requester(), deletion.named.clone());
        let mut arguments = vec!["--as".to_owned(), requester.to_owned(), "delete".to_owned(), "request".to_owned()];
        if let (1, Some((object, paths))) = (named.len(), named.first_key_value()) {
            arguments.push(object.clone());
            arguments.extend(paths.iter().flatten().cloned());
        } else {
            let list = self.world.path(&format!("{}.list", reason.replace(' ', "-")));
            let line = |object: &String, paths: &Option<BTreeSet<String>>| match paths {
                None => format!("{object}\n"),
                Some(paths) => paths.iter().fold(String::new(), |text, path| text + &format!("{object}\t{path}\n")),
            };
            let text: String = named.iter().map(|(object, paths)| line(object, paths)).collect();
            if let Err(error) = fs::write(&list, text) {
                return self.find(format!("cannot write {}: {error}", list.display()));
            }
            arguments.extend(["--list".to_owned(), list.to_string_lossy().into_owned()]);
        }
        arguments.extend(["--reason".to_owned(), reason.clone(), "--json".to_owned()]);
        self.requested.insert(reason, named);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        self.about_deletions.ask(&arguments, Continuation::Deletion(number, Question::Request));
    }

    /// Goes on with the answer of a command.
    pub(crate) fn answer_deletion(&mut self, number: usize, question: Question, answer: &Answer) {
        let answered = answer.json().unwrap_or_default();
        let has_succeeded = answer.code == Some(0);
        let first = answered.first().cloned().unwrap_or_default();
        let deletion = &mut self.deletions[number];
        let has_tries = |done: u64, deletion: &Deletion| done < deletion.planned.tries;
        match question {
            Question::Files(target) => {
                let object = deletion.object(target);
                let Part::Files(picks) = &deletion.planned.targets[target].part else { return };
                let paths: Vec<&str> = answered.iter().map(|file| text(file, "path")).collect();
                let paths = (!paths.is_empty()).then(|| chosen(&paths, picks));
                if let (Some(paths), true) = (paths, has_succeeded) {
                    deletion.named.insert(object, Some(paths));
                    self.go_on_with_request(number);
                } else if has_tries(deletion.requests, deletion) {
                    deletion.later(AGAIN, Due::Request);
                }
            }
            Question::Request if has_succeeded => deletion.requested(text(&first, "request").to_owned()),
            Question::Request if has_tries(deletion.requests, deletion) => deletion.later(AGAIN, Due::Request),
            // One that was decided meanwhile stays as it is.
            Question::Approval
                if !has_succeeded
                    && !answer.stderr.contains("could not approve")
                    && has_tries(deletion.approvals, deletion) =>
            {
                deletion.later(AGAIN, Due::Approve);
            }
            Question::Request | Question::Approval => {}
            Question::LegalHold => {
                let hold = text(&first, "legal_hold").to_owned();
                let (from, to) = deletion.planned.legal_hold.unwrap_or_default();
                if has_succeeded {
                    deletion.later(Duration::from_millis(to - from), Due::ReleaseHold(hold));
                }
            }
            Question::Items(wish) => {
                for item in answered.iter().filter_map(|target| target["item"].as_str()) {
                    let wish = match wish {
                        ItemWish::Cancel => "cancel",
                        ItemWish::Hold => "hold",
                        ItemWish::Requeue => "requeue",
                    };
                    self.about_deletions.ask(&["items", wish, item], Continuation::None);
                }
            }
        }
    }

    /// Releases every legal hold.
    pub(crate) fn release_legal_holds(&mut self) -> Result<()> {
        for hold in self.world.run(["hold", "legal", "list", "--json"])?.succeeded()?.json()? {
            let release = ["hold", "legal", "release", text(&hold, "legal_hold"), "--reason", "settling"];
            self.world.run(release)?.succeeded()?;
        }
        Ok(())
    }

    /// Has the other user approve what waits for it, and deny what something stands against again and again. How many still wait.
    pub(crate) fn decide_requests(&mut self) -> Result<usize> {
        let open = self.world.run(["delete", "list", "--state", "requested", "--json"])?.succeeded()?.json()?;
        let is_planned = |id: &str| {
            let of_plan = self.deletions.iter().filter(|deletion| deletion.request.as_deref() == Some(id));
            of_plan.flat_map(|deletion| &deletion.due).any(|(_, due)| *due == Due::Approve)
        };
        let planned: BTreeSet<&str> =
            open.iter().map(|request| text(request, "request")).filter(|id| is_planned(id)).collect();
        for request in open.iter().filter(|request| !planned.contains(text(request, "request"))) {
            let (id, by) = (text(request, "request"), text(request, "requested_by"));
            let approver = if by == ADMINS[0] { ADMINS[1] } else { ADMINS[0] };
            let tries = self.approvals.entry(id.to_owned()).or_default();
            *tries += 1;
            let is_given_up = *tries > APPROVALS;
            let answer = if is_given_up {
                self.world.run(["--as", approver, "delete", "deny", id, "--reason", "settling"])?
            } else {
                self.world.run(["--as", approver, "delete", "approve", id, "--detach"])?
            };
            let act = if is_given_up { "denied" } else { "approved" };
            self.world.log(format!("{act} {id}: {:?} {}", answer.code, answer.stderr.trim()));
        }
        Ok(open.len())
    }
}

/// Whether an item of a deletion failed before it deleted anything, for a reason that stays.
pub(crate) fn has_deleted_nothing(item: &Value) -> bool {
    let note = text(item, "note");
    match text(item, "action") {
        "delete_object" | "delete_files" => note.contains("nothing is deleted"),
        "delete_batch" => note.contains("is not approved any more"),
        _ => false,
    }
}

/// How often an approval is tried while the end of a run is worked on.
const APPROVALS: u64 = 8;

/// The paths that numbers choose.
fn chosen(paths: &[&str], picks: &[u64]) -> BTreeSet<String> {
    let choose = |pick: &u64| usize::try_from(pick % paths.len() as u64).ok().and_then(|at| paths.get(at));
    picks.iter().filter_map(choose).map(|path| (*path).to_owned()).collect()
}
