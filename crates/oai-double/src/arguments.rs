//! The arguments of a request, checked as the protocol says (sections 3.1.1, 3.6 and 4).

/// An error of the protocol: its code and a message.
pub(crate) type Refusal = (&'static str, String);

/// The arguments of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Arguments {
    pub(crate) verb: String,
    pub(crate) values: Vec<(String, String)>,
}

impl Arguments {
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.values.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    /// Reads the query of a request.
    pub(crate) fn parse(query: &str) -> Result<Self, Refusal> {
        let mut arguments = Self::default();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (name, value) = (decoded(name), decoded(value));
            if name == "verb" {
                if !arguments.verb.is_empty() {
                    return Err(("badVerb", "the verb is repeated".to_owned()));
                }
                arguments.verb = value;
            } else if arguments.get(&name).is_some() {
                return Err(("badArgument", format!("{name} is repeated")));
            } else {
                arguments.values.push((name, value));
            }
        }
        arguments.check()?;
        Ok(arguments)
    }

    fn check(&self) -> Result<(), Refusal> {
        let bad = |text: String| Err(("badArgument", text));
        let (required, optional): (&[&str], &[&str]) = match self.verb.as_str() {
            "Identify" => (&[], &[]),
            "ListMetadataFormats" => (&[], &["identifier"]),
            "ListSets" => (&[], &["resumptionToken"]),
            "GetRecord" => (&["identifier", "metadataPrefix"], &[]),
            "ListIdentifiers" | "ListRecords" if self.get("resumptionToken").is_some() => (&["resumptionToken"], &[]),
            "ListIdentifiers" | "ListRecords" => (&["metadataPrefix"], &["from", "until", "set"]),
            verb => return Err(("badVerb", format!("{verb:?} is no verb"))),
        };
        for (name, _) in &self.values {
            if !required.contains(&name.as_str()) && !optional.contains(&name.as_str()) {
                return bad(format!("{name} is no argument here"));
            }
        }
        if let Some(missing) = required.iter().find(|name| self.get(name).is_none()) {
            return bad(format!("{missing} is missing"));
        }
        Ok(())
    }

    /// Whether dates are as the protocol says, for a provider with seconds or days.
    pub(crate) fn check_dates(&self, has_seconds: bool) -> Result<(), Refusal> {
        let dates: Vec<&str> = ["from", "until"].iter().filter_map(|name| self.get(name)).collect();
        for date in &dates {
            let form: String =
                date.chars().map(|character| if character.is_ascii_digit() { '0' } else { character }).collect();
            let is_right = form == "0000-00-00" || (has_seconds && form == "0000-00-00T00:00:00Z");
            if !is_right {
                return Err(("badArgument", format!("{date:?} is no date of this provider")));
            }
        }
        if let [from, until] = dates.as_slice()
            && (from.len() != until.len() || from > until)
        {
            return Err(("badArgument", "from and until do not fit".to_owned()));
        }
        Ok(())
    }
}

/// A text of a query, with its escapes resolved.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let escaped = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match (first, escaped.and_then(|digits| u8::from_str_radix(digits, 16).ok())) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
                continue;
            }
            (b'+', _) => bytes.push(b' '),
            _ => bytes.push(*first),
        }
        rest = after;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
