//! Requests for deletion expire, end with their work items, and are told to the admins of their institutions.

use std::time::Duration;

use strongroom_registry::deletion_requests;

use super::BackgroundTask;
use crate::deletion::requests::keep;

const EVERY: Duration = Duration::from_mins(5);

pub(super) const TASK: BackgroundTask = BackgroundTask { name: deletion_requests::TASK, every: |_| EVERY, run: keep };
