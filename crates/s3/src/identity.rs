//! Making a part of a bucket a store, recognising one, and remembering what was found out of its server.

use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use aws_sdk_s3::primitives::ByteStream;
use serde::{Deserialize, Serialize};
use strongroom_storage::{Key, StorageError};
use uuid::Uuid;

use crate::probe::Probe;
use crate::store::{BOOKKEEPING, Inner, is_reserved};
use crate::{S3Settings, S3Store, client};

/// The layout of `.strongroom/` that this code keeps.
const FORMAT: u32 = 1;
/// What a probe tests; raised when that changes.
const PROBE_FORMAT: u32 = 1;

/// What `store.json` says.
#[derive(Debug, Serialize, Deserialize)]
struct Description {
    format: u32,
    store: Uuid,
}

/// What `probe.json` says.
#[derive(Debug, Serialize, Deserialize)]
struct ProbeFile {
    format: u32,
    endpoint: String,
    /// The class that was tried.
    class: Option<String>,
    /// Seconds since 1970 in UTC.
    at: u64,
    probe: Probe,
}

pub(crate) fn open(name: String, settings: S3Settings, may_create: bool) -> Result<S3Store, StorageError> {
    let unusable = |reason: String| StorageError::Unusable { store: name.clone(), reason };
    if let Some(fault) = settings.fault() {
        return Err(unusable(fault));
    }
    let prefix = Key::new(settings.prefix.as_str()).map_err(|error| unusable(format!("prefix: {error}")))?;
    if is_reserved(prefix.as_str().split('/').next_back().unwrap_or_default()) {
        return Err(unusable(format!("prefix {prefix} belongs to a store itself")));
    }
    let runtime = client::runtime().map_err(&unusable)?;
    let client = runtime.block_on(client::client(&settings)).map_err(unusable)?;
    let mut inner = Inner::new(name, settings, prefix, client, runtime);
    inner.id = identify(&inner, may_create)?;
    let probe = match recorded_probe(&inner)? {
        Some(probe) => probe,
        None => probe_and_record(&inner)?,
    };
    inner.probe = probe.into();
    Ok(S3Store { inner: Arc::new(inner) })
}

fn identify(inner: &Inner, may_create: bool) -> Result<Uuid, StorageError> {
    let name = inner.name_of(&format!("{BOOKKEEPING}/store.json"))?;
    let mut found = inner.read_bookkeeping::<Description>(&name)?;
    if found.is_none() && may_create {
        describe(inner, &name)?;
        found = inner.read_bookkeeping(&name)?;
    }
    let (bucket, endpoint) = (&inner.settings.bucket, inner.settings.shown_endpoint());
    let Some(description) = found else {
        return Err(inner.unusable(format!(
            "bucket {bucket} at {endpoint} has no {name}: check bucket and prefix; a store that is lost is replaced by `store replace`, and one that never \
             was is made by `store create`"
        )));
    };
    if description.format != FORMAT {
        let format = description.format;
        return Err(inner.unusable(format!(
            "the store in bucket {bucket} has format {format}, this program knows {FORMAT}: use a newer one"
        )));
    }
    Ok(description.store)
}

/// Whether the place still holds the store that was opened, unless it did lately. While one thread looks, the others rely on
/// the look before.
pub(crate) fn check_lately(inner: &Inner) -> Result<(), StorageError> {
    {
        let mut read = inner.id_read.lock().unwrap_or_else(PoisonError::into_inner);
        if read.elapsed() < inner.settings.id_interval {
            return Ok(());
        }
        *read = Instant::now();
    }
    check(inner)
}

/// Whether the place holds the store that was opened, inspected now.
pub(crate) fn check(inner: &Inner) -> Result<(), StorageError> {
    let found = identify(inner, false)?;
    if found == inner.id {
        return Ok(());
    }
    let (bucket, endpoint) = (&inner.settings.bucket, inner.settings.shown_endpoint());
    let reason = format!("bucket {bucket} at {endpoint} holds the store {found} now, and held {}", inner.id);
    Err(StorageError::Away { store: inner.name.clone(), reason })
}

/// Of several who make the same store at once, one gives it its name, where the service honours that.
fn describe(inner: &Inner, name: &str) -> Result<(), StorageError> {
    let description = Description { format: FORMAT, store: Uuid::now_v7() };
    let text = serde_json::to_vec_pretty(&description)
        .map_err(|error| inner.unusable(format!("{name} could not be written: {error}")))?;
    let send = |if_none_match: Option<String>| {
        let request = inner.client.put_object().bucket(&inner.settings.bucket).key(name);
        inner.ask(request.set_if_none_match(if_none_match).body(ByteStream::from(text.clone())).send())
    };
    match send(Some("*".to_owned())) {
        Ok(_) => Ok(()),
        Err(failure) if failure.is_condition() || failure.is_conflict() => Ok(()),
        Err(failure) if failure.is_unsupported() => {
            send(None).map(|_| ()).map_err(|failure| inner.failed(failure, "create", &Key::ROOT))
        }
        Err(failure) => Err(inner.failed(failure, "create", &Key::ROOT)),
    }
}

fn probe_name(inner: &Inner) -> Result<String, StorageError> {
    inner.name_of(&format!("{BOOKKEEPING}/probe.json"))
}

/// What was found out lately of this very server.
fn recorded_probe(inner: &Inner) -> Result<Option<Probe>, StorageError> {
    // What cannot be read was written by another version: it is found out anew.
    let found = match inner.read_bookkeeping::<ProbeFile>(&probe_name(inner)?) {
        Ok(found) => found,
        Err(StorageError::Unusable { .. }) => None,
        Err(error) => return Err(error),
    };
    let settings = &inner.settings;
    Ok(found.and_then(|found| {
        let age = now().checked_sub(Duration::from_secs(found.at))?;
        let is_of_this = found.format == PROBE_FORMAT
            && found.endpoint == settings.shown_endpoint()
            && found.class == settings.storage_class;
        (is_of_this && age < settings.probe_interval).then(|| found.probe.under(settings.checksums))
    }))
}

/// Finds out what the server honours. Where nothing may be written, nothing is relied on.
pub(crate) fn probe_and_record(inner: &Inner) -> Result<Probe, StorageError> {
    let probe = inner.find_out()?;
    let found = ProbeFile {
        format: PROBE_FORMAT,
        endpoint: inner.settings.shown_endpoint().to_owned(),
        class: inner.settings.storage_class.clone(),
        at: now().as_secs(),
        probe,
    };
    if probe.is_writable {
        inner.write_bookkeeping(&probe_name(inner)?, &found)?;
    }
    let probe = probe.under(inner.settings.checksums);
    *inner.probe.write().unwrap_or_else(PoisonError::into_inner) = probe;
    Ok(probe)
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
