//! `restore tests`: the spot tests of restoration, and what people say of their results.

use clap::Subcommand;
use strongroom_engine::app::spot_tests::{self, Filter};
use strongroom_engine::app::views::{SpotTestState, SpotTestView};
use strongroom_engine::app::{self, OpContext};

use super::values::word;
use crate::context::Context;
use crate::failure::{Exit, Outcome};
use crate::output::ListOptions;

/// What is done with spot tests.
#[derive(Debug, Subcommand)]
pub(crate) enum Tests {
    /// List the spot tests: which object was restored when, and what came of it
    List {
        /// Only those of this institution
        #[arg(long, value_name = "DOMAIN")]
        institution: Option<String>,
        /// Only those in this state: restoring, restored, confirmed, failed, closed or dropped
        #[arg(long)]
        state: Option<String>,
        #[command(flatten)]
        options: ListOptions,
    },
    /// Say that you have looked at what a test restored, and that it is right
    Confirm {
        /// The test: its identifier, or a part of it that no other has
        test: String,
        /// What you have looked at
        #[arg(long, value_name = "TEXT")]
        note: Option<String>,
    },
    /// Say that you have looked at what a test restored, and why it is not right: the test has failed then
    Reject {
        /// The test: its identifier, or a part of it that no other has
        test: String,
        /// What is not right
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
    /// Close a test that failed
    Close {
        /// The test: its identifier, or a part of it that no other has
        test: String,
        /// What was found, and done
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
}

pub(super) fn run(call: &OpContext, command: Tests, context: &Context) -> Outcome {
    let decided = match command {
        Tests::List { institution, state, options } => {
            let state = state.map(|text| word(&text, "state", SpotTestState::ALL)).transpose()?;
            return list(call, &Filter { institution, state }, options, context);
        }
        Tests::Confirm { test, note } => spot_tests::confirm(call, spot_tests::named(call, &test)?, note.as_deref())?,
        Tests::Reject { test, reason } => spot_tests::reject(call, spot_tests::named(call, &test)?, &reason)?,
        Tests::Close { test, reason } => spot_tests::close(call, spot_tests::named(call, &test)?, &reason)?,
    };
    context.output.show(&decided)?;
    Ok(Exit::Done)
}

fn list(call: &OpContext, filter: &Filter, options: ListOptions, context: &Context) -> Outcome {
    let columns = ["test", "object", "state", "begun_at", "decided_by", "reason"];
    let in_full = [
        "test",
        "object",
        "version",
        "state",
        "item",
        "place",
        "begun_at",
        "ended_at",
        "reminded_at",
        "decided_at",
        "decided_by",
        "reason",
    ];
    let mut table = context.output.table(&columns).with::<SpotTestView>(options.table).in_full(&in_full).wrapping();
    app::arranged(options.oldest_first(), |after| spot_tests::list(call, filter, after), |test| table.row(&test))?;
    table.end("there is no spot test")?;
    Ok(Exit::Done)
}
