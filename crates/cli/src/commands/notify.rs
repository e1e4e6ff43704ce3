//! `notify`: tests of mails and callbacks.

use clap::{Args, Subcommand};
use strongroom_engine::app::notifications::{self, Receiver};

use crate::context::Context;
use crate::failure::{Exit, Outcome};

/// Test whether mails and callbacks reach their receivers
#[derive(Debug, Subcommand)]
pub(crate) enum Notify {
    /// Send one test message through the outbox, and wait until it is delivered
    Test(Test),
}

#[derive(Debug, Args)]
pub(crate) struct Test {
    /// Send a mail to this address
    #[arg(long, value_name = "ADDRESS", required_unless_present = "callback")]
    mail: Option<String>,
    /// Post a callback to this URL
    #[arg(long, value_name = "URL", conflicts_with = "mail")]
    callback: Option<String>,
    /// The domain name of the institution in whose name it is sent [default: the first]
    #[arg(long, value_name = "DOMAIN")]
    institution: Option<String>,
    /// The short name of the collection whose secret signs the callback [default: callbacks.secret signs it]
    #[arg(long, value_name = "COLLECTION", requires_all = ["institution", "callback"])]
    collection: Option<String>,
}

pub(crate) fn run(command: &Notify, context: &Context) -> Outcome {
    let Notify::Test(test) = command;
    let receiver = match (&test.mail, &test.callback) {
        (_, Some(url)) => Receiver::Callback { url: url.clone(), collection: test.collection.clone() },
        (address, None) => Receiver::Mail(address.clone().unwrap_or_default()),
    };
    let call = context.call()?;
    context.output.show(&notifications::test(&call, &receiver, test.institution.as_deref())?)?;
    Ok(Exit::Done)
}
