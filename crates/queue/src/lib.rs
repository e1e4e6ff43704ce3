//! what a task queue is: topics, leases, retries, dead letters
