//! What EZID has of an ARK follows the versions of its object: each publication inserts a message into the outbox, which this channel
//! delivers. Only the message of the latest version is delivered; older ones are obsolete.

use serde::{Deserialize, Serialize};
use strongroom_ark::{Ark, EzidError};
use strongroom_registry::objects::{self, Object};
use strongroom_registry::outbox::{self, Message};
use strongroom_registry::versions::Version;
use strongroom_registry::{ObjectId, Scope};

use super::ezid::{erc_lines, with_advice};
use crate::ingest::description_record;
use crate::outbox::{Channel, Delivery};
use crate::settings::MinterKind;
use crate::{EngineError, Home, crash_point};

/// What a message of this kind says.
#[derive(Debug, Serialize, Deserialize)]
struct Payload {
    object: ObjectId,
    identifier: String,
    ark: String,
    version: u64,
    erc: Vec<(String, String)>,
}

/// The key and the payload of the message about a new version; none where EZID does not have the object's ARK.
///
/// # Errors
/// The description of the version cannot be used.
pub(crate) fn message(
    home: &Home,
    object: &Object,
    version: &Version,
) -> Result<Option<(String, String)>, EngineError> {
    let settings = &home.settings.identifiers;
    let Some(ark) = object.ark.as_ref().filter(|ark| settings.minter == MinterKind::Ezid && settings.is_ours(ark))
    else {
        return Ok(None);
    };
    let payload = Payload {
        object: object.id,
        identifier: object.identifier.clone(),
        ark: ark.clone(),
        version: version.number,
        erc: erc_lines(&description_record(&version.description)?),
    };
    // Texts and numbers only: it cannot fail.
    Ok(Some((format!("ezid {}", version.id), serde_json::to_string(&payload).unwrap_or_default())))
}

/// The channel whose messages are updates of what EZID has.
pub(crate) struct EzidUpdates;

impl Channel for EzidUpdates {
    fn name(&self) -> &'static str {
        "ezid"
    }

    fn kinds(&self) -> &'static [&'static str] {
        &[outbox::EZID]
    }

    fn deliver(&self, home: &Home, message: &Message) -> Result<Delivery, EngineError> {
        let id = message.id;
        let set_delivered = || home.registry.write(move |tx| outbox::set_delivered(tx, id));
        let payload: Option<Payload> = serde_json::from_str(&message.payload).ok();
        let wanted = payload.and_then(|payload| Some((payload.ark.parse::<Ark>().ok()?, payload)));
        let Some((ark, payload)) = wanted else {
            set_delivered()?;
            return Ok(Delivery::Obsolete);
        };
        let object = home.registry.read(|tx| objects::get(tx, Scope::System, payload.object))?;
        if object.is_none_or(|object| object.head != payload.version) {
            set_delivered()?;
            return Ok(Delivery::Obsolete);
        }
        let again = format!("strongroom outbox send {id}");
        let Some(ezid) = home.ezid()? else {
            return Ok(Delivery::Undeliverable(format!(
                "EZID cannot be told of {} {}: the settings name no account there; next: set identifiers.minter to \"ezid\" and \
                 restart the workers, then: {again}; or: strongroom outbox remove {id}",
                payload.identifier, payload.ark
            )));
        };
        match ezid.update(&ark, &payload.erc) {
            Ok(()) => {
                crash_point("outbox.ezid.sent");
                set_delivered()?;
                Ok(Delivery::Made)
            }
            // Another server may answer at the URL for a while.
            Err(error) if error.is_transient() || matches!(error, EzidError::Answer { .. }) => Err(error.into()),
            Err(error) => Ok(Delivery::Undeliverable(with_advice(&error, &again))),
        }
    }
}
