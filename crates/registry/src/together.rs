//! Requests of several threads that one of them carries out together.

use std::mem;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How many groups are carried out at the same time: while one waits for the disk, another one is made.
const GROUPS: usize = 2;

/// How many requests begin a group while another one is carried out. Fewer wait for its end, and then are one.
const GATHERED: usize = 4;

/// How many requests are in a group at most.
const LARGEST: usize = 64;

/// Groups the requests of threads that ask at the same time. A thread that asks while no group is carried out carries its request out by
/// itself and at once; the requests of those that ask meanwhile are a group, which one of them carries out.
#[derive(Debug)]
pub struct Together<R, A> {
    state: Mutex<State<R, A>>,
}

#[derive(Debug)]
struct State<R, A> {
    waiting: Vec<Waiting<R, A>>,
    groups: usize,
}

#[derive(Debug)]
struct Waiting<R, A> {
    request: R,
    sender: SyncSender<Answer<R, A>>,
}

/// What a thread that waits is told.
#[derive(Debug)]
enum Answer<R, A> {
    /// What came of its request.
    Is(Option<A>),
    /// That it carries out its own request, which this has, together with those that wait.
    Lead(R),
}

impl<R, A> Default for Together<R, A> {
    fn default() -> Self {
        Self { state: Mutex::new(State { waiting: Vec::new(), groups: 0 }) }
    }
}

impl<R, A> Together<R, A> {
    /// What came of a request. `carry_out` is given the requests of a group, or a single one, and returns what came of each, in order; none of
    /// those that the threads have to see to by themselves. So is it where the thread that carries out the group panics.
    pub fn ask(&self, request: R, carry_out: impl FnOnce(Vec<R>) -> Vec<Option<A>>) -> Option<A> {
        let request = match self.lead_or_wait(request) {
            Err(receiver) => match receiver.recv() {
                Ok(Answer::Is(answer)) => return answer,
                Ok(Answer::Lead(request)) => request,
                Err(_) => return None,
            },
            Ok(request) => request,
        };
        let leading = Leading(self);
        let (mut requests, mut others) = (vec![request], Vec::new());
        for Waiting { request, sender } in self.others() {
            requests.push(request);
            others.push(sender);
        }
        let mut answers = carry_out(requests).into_iter();
        drop(leading);
        let own = answers.next().flatten();
        for sender in others {
            // It waits for the answer.
            let _ = sender.send(Answer::Is(answers.next().flatten()));
        }
        own
    }

    fn lock(&self) -> MutexGuard<'_, State<R, A>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The request where the thread is to carry it out, else where it is told what came of it.
    fn lead_or_wait(&self, request: R) -> Result<R, Receiver<Answer<R, A>>> {
        let mut state = self.lock();
        if state.groups == 0 || (state.groups < GROUPS && state.waiting.len() + 1 >= GATHERED) {
            state.groups += 1;
            return Ok(request);
        }
        let (sender, receiver) = sync_channel(1);
        state.waiting.push(Waiting { request, sender });
        Err(receiver)
    }

    /// The requests that are carried out with one that is at hand.
    fn others(&self) -> Vec<Waiting<R, A>> {
        let mut state = self.lock();
        let count = state.waiting.len().min(LARGEST - 1);
        let rest = state.waiting.split_off(count);
        mem::replace(&mut state.waiting, rest)
    }
}

/// A group that is carried out. At its end, however it comes, one of those that wait carries out the next.
struct Leading<'a, R, A>(&'a Together<R, A>);

impl<R, A> Drop for Leading<'_, R, A> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        if state.waiting.is_empty() {
            state.groups -= 1;
        } else {
            let Waiting { request, sender } = state.waiting.remove(0);
            // It waits for what it is told.
            let _ = sender.send(Answer::Lead(request));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::mpsc::channel;
    use std::thread;

    use super::*;

    fn doubled(requests: Vec<u64>) -> Vec<Option<u64>> {
        requests.into_iter().map(|one| (one % 5 != 0).then_some(2 * one)).collect()
    }

    #[test]
    fn each_is_told_what_came_of_its_own_request() {
        let together = Together::default();
        thread::scope(|scope| {
            for first in 0..8 {
                let together = &together;
                scope.spawn(move || {
                    for request in (first..4_000).step_by(8) {
                        let answer = together.ask(request, doubled);
                        assert_eq!(answer, (request % 5 != 0).then_some(2 * request));
                    }
                });
            }
        });
        let state = together.lock();
        assert_eq!((state.groups, state.waiting.len()), (0, 0));
    }

    #[test]
    fn those_that_ask_while_a_group_is_carried_out_are_one_group() {
        let (together, (begun, has_begun), (end, may_end)) = (Together::default(), channel(), channel::<()>());
        let (sizes, of_groups) = channel();
        thread::scope(|scope| {
            let together = &together;
            scope.spawn(move || {
                together.ask(1, |requests| {
                    begun.send(()).expect("is waited for");
                    may_end.recv().expect("is ended");
                    doubled(requests)
                })
            });
            has_begun.recv().expect("begins");
            let others: Vec<_> = (2..GATHERED as u64)
                .map(|request| {
                    let sizes = sizes.clone();
                    scope.spawn(move || {
                        together.ask(request, |requests| {
                            sizes.send(requests.len()).expect("is waited for");
                            doubled(requests)
                        })
                    })
                })
                .collect();
            while together.lock().waiting.len() < others.len() {
                thread::yield_now();
            }
            end.send(()).expect("is waited for");
            for (other, request) in others.into_iter().zip(2..) {
                assert_eq!(other.join().expect("ends"), Some(2 * request));
            }
        });
        drop(sizes);
        assert_eq!(of_groups.iter().collect::<Vec<_>>(), [GATHERED - 2]);
    }

    #[test]
    fn those_whose_group_panics_see_to_their_requests_and_the_next_group_is_carried_out() {
        let (together, (begun, has_begun), (end, may_end)) = (Together::default(), channel(), channel::<()>());
        thread::scope(|scope| {
            let together = &together;
            let first = scope.spawn(move || {
                let panics = |_| {
                    begun.send(()).expect("is waited for");
                    may_end.recv().expect("is ended");
                    panic!("as a test wants it")
                };
                catch_unwind(AssertUnwindSafe(|| together.ask(1, panics))).is_err()
            });
            has_begun.recv().expect("begins");
            let second = scope.spawn(move || together.ask(2, doubled));
            while together.lock().waiting.is_empty() {
                thread::yield_now();
            }
            end.send(()).expect("is waited for");
            assert!(first.join().expect("its panic is caught"));
            assert_eq!(second.join().expect("ends"), Some(4));
        });
        assert_eq!(together.ask(3, doubled), Some(6));
    }

    #[test]
    fn no_answer_is_no_answer() {
        let together = Together::<u64, u64>::default();
        assert_eq!(together.ask(1, |_| Vec::new()), None);
    }
}
