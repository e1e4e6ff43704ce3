//! The requirements of CoreTrustSeal 2026-2028 to which software can contribute evidence, and the rows of `ndsa` that are this evidence.
//! Whether a requirement is fulfilled, reviewers decide: what is met here is never more than the part that software can show.

/// A requirement.
pub(crate) struct Requirement {
    /// Its number, such as `R14`.
    pub(crate) number: &'static str,
    pub(crate) name: &'static str,
    pub(crate) asks: &'static str,
    /// The names of the rows of [`super::ndsa`] that are evidence for it.
    pub(crate) rows: &'static [&'static str],
}

/// Those to which software can contribute, in their order.
pub(crate) const REQUIREMENTS: &[Requirement] = &[
    Requirement {
        number: "R07",
        name: "Provenance and authenticity",
        asks: "it is known where content comes from, what was done with it, and that it is what was deposited",
        rows: &["digests-compared", "acts-recorded", "acts-logged"],
    },
    Requirement {
        number: "R08",
        name: "Deposit, appraisal and accessibility",
        asks: "deposits are accepted by criteria that are written down, so that users can find and use them",
        rows: &["digests-compared", "digests-computed", "viruses", "formats-known", "content-described"],
    },
    Requirement {
        number: "R09",
        name: "Preservation plan",
        asks: "it is known what is preserved and in which formats, and preservation acts are recorded",
        rows: &["inventory", "formats-known", "acts-recorded"],
    },
    Requirement {
        number: "R10",
        name: "Quality assurance",
        asks: "content and metadata follow standards, and users can judge their quality",
        rows: &["content-described", "formats-verified"],
    },
    Requirement {
        number: "R11",
        name: "Workflows",
        asks: "what happens to content follows defined workflows, and changes are recorded",
        rows: &["acts-recorded", "acts-logged"],
    },
    Requirement {
        number: "R14",
        name: "Storage and integrity",
        asks: "there are several copies, whose integrity is checked and restored",
        rows: &[
            "two-copies",
            "stable-storage",
            "three-copies",
            "copies-verified",
            "digests-apart",
            "checks-at-intervals",
            "checks-recorded",
            "repair",
        ],
    },
    Requirement {
        number: "R15",
        name: "Technical infrastructure",
        asks: "systems, software and hardware are supported, managed and fit for their purpose",
        rows: &["media-known", "stable-storage", "inventory-apart"],
    },
    Requirement {
        number: "R16",
        name: "Security",
        asks: "the service, its data and its users are protected against attacks, errors and failures",
        rows: &["agents-determined", "agents-applied", "acts-logged", "another-threat"],
    },
];

#[cfg(test)]
mod tests {
    use super::super::ndsa;
    use super::*;

    #[test]
    fn every_row_that_is_named_exists() {
        for requirement in REQUIREMENTS {
            assert!(!requirement.rows.is_empty());
            for name in requirement.rows {
                assert!(ndsa::row(name).is_some(), "{} names {name}", requirement.number);
            }
        }
    }
}
