//! What the records of problems promise: each fault has one, and what is not there any more is resolved.

use std::collections::BTreeSet;

use anyhow::Result;

use crate::perform::Cast;
use crate::promises::text;

impl Cast {
    /// The records of damaged copies are those of the findings; each resolved one has its evidence, and its history ends with that.
    pub(crate) fn problems_are_true(&mut self) -> Result<()> {
        let findings = self.world.run(["fixity", "problems", "--all", "--json"])?.json()?;
        let unsolved: BTreeSet<String> = findings
            .iter()
            .filter(|finding| !text(finding, "finding").is_empty() && text(finding, "repaired_at").is_empty())
            .map(|finding| text(finding, "finding").to_owned())
            .collect();
        let known = self.world.run(["problems", "list", "--all", "--json"])?.json()?;
        let mut of_findings = BTreeSet::new();
        for problem in &known {
            let (state, finding) = (text(problem, "state"), text(problem, "finding"));
            if state == "resolved" && text(problem, "reason").is_empty() {
                self.find(format!("a problem is resolved, and nothing has shown that: {problem}"));
            }
            if state != "resolved" && !finding.is_empty() {
                of_findings.insert(finding.to_owned());
            }
        }
        for finding in unsolved.symmetric_difference(&of_findings) {
            self.find(format!("finding {finding} and its problem differ in whether they are solved"));
        }
        Ok(())
    }
}
