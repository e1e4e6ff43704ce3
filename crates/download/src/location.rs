//! Which URLs may be asked for, and how they are written in errors.

use url::Url;

use crate::error::DownloadError;

/// Longest URL in an error, in characters.
const SHOWN: usize = 300;

/// Parses a URL and refuses it where its scheme or host is not allowed; a redirect is judged like the URL itself, and must not
/// lead from https to http. `base` is what redirected.
pub(crate) fn allowed(hosts: &[String], text: &str, base: Option<&Url>) -> Result<Url, DownloadError> {
    let parsed = match base {
        Some(base) => base.join(text),
        None => Url::parse(text),
    };
    let Ok(mut url) = parsed else {
        return Err(DownloadError::Refused { url: shown_text(text), reason: "it is not an absolute URL".into() });
    };
    let refused = |reason: &str| DownloadError::Refused { url: shown(&url), reason: reason.to_owned() };
    if !matches!(url.scheme(), "http" | "https") {
        return Err(refused("only http and https are supported"));
    }
    if base.is_some_and(|base| base.scheme() == "https") && url.scheme() == "http" {
        return Err(refused("a redirect leads to it from https to http"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(refused("it contains a user name or password"));
    }
    if url.host_str().is_none() {
        return Err(refused("it names no host"));
    }
    if !is_among(hosts, &url) {
        return Err(refused(&match port_missing(hosts, &url) {
            Some(entry) => format!("its host is not among the allowed hosts with this port; allow {entry:?}"),
            None => "its host is not among the allowed hosts".to_owned(),
        }));
    }
    url.set_fragment(None);
    Ok(url)
}

/// Whether a pattern of a list names the host and port of a URL.
pub(crate) fn is_among(patterns: &[String], url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_end_matches('.').to_ascii_lowercase();
    patterns.iter().any(|pattern| is_host_allowed(&pattern.to_ascii_lowercase(), &host, url))
}

/// What would allow a URL whose host is allowed with another port.
fn port_missing(hosts: &[String], url: &Url) -> Option<String> {
    let mut other = url.clone();
    let is_named = |pattern: &String| {
        let port = pattern.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok());
        other.set_port(port).is_ok() && is_among(std::slice::from_ref(pattern), &other)
    };
    hosts.iter().any(is_named).then(|| authority(url))
}

/// What is wrong with an entry of a list of hosts that no URL can fit, and what to write in its place; none where one can.
pub fn host_fault(entry: &str) -> Option<String> {
    let bare = entry.split_once("://").map_or(entry, |(_, rest)| rest);
    let bare = bare.split(['/', '?', '#']).next().unwrap_or_default();
    let bare = bare.rsplit_once('@').map_or(bare, |(_, host)| host).trim().trim_end_matches(':');
    let (domain, name) = match bare.strip_prefix("*.") {
        Some(rest) => ("*.", rest),
        None => ("", bare),
    };
    let example = "write a host such as \"files.example.edu\", \"files.example.edu:8443\" with a port that is not the usual one, or \
                   \"*.example.edu\" for all below a domain";
    let parsed = Url::parse(&format!("http://{name}/")).ok().filter(|_| !name.contains('*'));
    let Some((host, parsed)) = parsed.as_ref().and_then(|url| Some((url.host_str()?.trim_end_matches('.'), url)))
    else {
        let what = if name.contains('*') { "a host cannot be left open" } else { "it is no host" };
        return Some(format!("{what}; {example}"));
    };
    // A port that is usual for http is left out of a URL, but may be meant for https.
    let digits = name.rsplit_once(':').map(|(_, digits)| digits).filter(|digits| !digits.ends_with(']'));
    let port = parsed.port().or_else(|| digits?.parse().ok()).map(|port| format!(":{port}")).unwrap_or_default();
    let right = format!("{domain}{host}{port}");
    (!entry.eq_ignore_ascii_case(&right)).then(|| format!("write {right:?}"))
}

/// Whether a pattern of the policy names the host and port; a pattern without a port means the port of the scheme.
fn is_host_allowed(pattern: &str, host: &str, url: &Url) -> bool {
    let (name, port) = match pattern.rsplit_once(':') {
        Some((name, digits)) if !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit()) => {
            let Ok(port) = digits.parse::<u16>() else { return false };
            (name, Some(port))
        }
        _ => (pattern, None),
    };
    let is_same = match name.strip_prefix("*.") {
        Some(domain) => host.strip_suffix(domain).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.')),
        None => name == host,
    };
    let is_same_port = match port {
        Some(port) => url.port_or_known_default() == Some(port),
        None => url.port().is_none(),
    };
    is_same && is_same_port
}

/// The scheme, host and port that connections are counted by.
pub(crate) fn authority(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default().trim_end_matches('.').to_ascii_lowercase();
    format!("{host}:{}", url.port_or_known_default().unwrap_or_default())
}

/// A URL as it is written in errors: without user name, password, query and fragment, shortened, control characters escaped.
pub(crate) fn shown(url: &Url) -> String {
    let mut bare = url.clone();
    // Fails only for URLs that have no host, and so none of both.
    let _ = bare.set_username("");
    let _ = bare.set_password(None);
    shortened(bare.as_str())
}

/// A URL as it is written in errors, or a text that may be none: without user name, password, query and fragment, shortened.
pub fn shown_text(text: &str) -> String {
    if let Ok(url) = Url::parse(text) {
        return shown(&url);
    }
    let (bare, query) = match text.split_once('?') {
        Some((bare, _)) => (bare, "?"),
        None => (text, ""),
    };
    // Whatever is before an @ may be a password.
    let bare = bare.rsplit_once('@').map_or(bare, |(_, rest)| rest);
    shortened(&format!("{bare}{query}"))
}

fn shortened(text: &str) -> String {
    let text = text.split('#').next().unwrap_or_default();
    let (path, query) = match text.split_once('?') {
        Some((path, _)) => (path, "?..."),
        None => (text, ""),
    };
    let mut shown: String = path.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    if path.chars().nth(SHOWN).is_some() {
        shown.push_str("...");
    }
    shown.push_str(query);
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_allowed(pattern: &str, url: &str) -> bool {
        allowed(&[pattern.to_owned()], url, None).is_ok()
    }

    #[test]
    fn hosts_are_allowed_by_name_domain_and_port() {
        for (pattern, url) in [
            ("example.org", "https://example.org/x"),
            ("example.org", "https://EXAMPLE.org./x"),
            ("Example.ORG", "http://example.org/x"),
            ("example.org", "https://example.org:443/x"),
            ("*.example.org", "https://a.b.example.org/"),
            ("example.org:8443", "https://example.org:8443/"),
            ("example.org:443", "https://example.org/"),
            ("*.example.org:8443", "https://a.example.org:8443/"),
            ("127.0.0.1:8080", "http://127.0.0.1:8080/"),
            ("127.0.0.1", "http://2130706433/"),
            ("[::1]:8080", "http://[::1]:8080/"),
            ("[::1]", "http://[::1]/"),
            ("xn--mnchen-3ya.example", "https://M\u{fc}nchen.example/"),
        ] {
            assert!(is_allowed(pattern, url), "{pattern} {url}");
        }
        for (pattern, url) in [
            ("example.org", "https://evil-example.org/"),
            ("example.org", "https://example.org.evil.net/"),
            ("example.org", "https://example.org@evil.net/"),
            ("example.org", "https://evil.net/example.org"),
            ("example.org", "https://evil.net\\@example.org/"),
            ("*.example.org", "https://example.org/"),
            ("*.example.org", "https://evilexample.org/"),
            ("*.example.org", "https://.example.org/"),
            ("example.org", "https://example.org:22/"),
            ("example.org:443", "http://example.org/"),
            ("example.org:8443", "https://example.org/"),
            ("example.org:99999", "https://example.org/"),
            ("*", "https://example.org/"),
            ("", "https://example.org/"),
        ] {
            assert!(!is_allowed(pattern, url), "{pattern} {url}");
        }
    }

    #[test]
    fn a_host_that_is_allowed_with_another_port_is_told_with_its_port() {
        for (pattern, url, told) in [
            ("127.0.0.1", "http://127.0.0.1:8971/x", "allow \"127.0.0.1:8971\""),
            ("*.example.org", "https://a.example.org:8443/x", "allow \"a.example.org:8443\""),
            ("example.org:8443", "https://example.org/x", "allow \"example.org:443\""),
            ("example.org", "https://example.net:8443/x", "among the allowed hosts"),
        ] {
            let error = allowed(&[pattern.to_owned()], url, None).unwrap_err().to_string();
            assert!(error.ends_with(told), "{error}");
        }
    }

    #[test]
    fn entries_that_fit_no_url_are_told_with_what_to_write() {
        for entry in
            ["example.org", "Example.ORG", "*.example.org:8443", "example.org:80", "[::1]:8080", "[::1]", "10.0.0.1"]
        {
            assert_eq!(host_fault(entry), None, "{entry}");
        }
        for (entry, right) in [
            ("http://127.0.0.1:8971", "write \"127.0.0.1:8971\""),
            ("https://example.org/files", "write \"example.org\""),
            ("example.org/", "write \"example.org\""),
            ("example.org.", "write \"example.org\""),
            ("example.org:", "write \"example.org\""),
            (" example.org", "write \"example.org\""),
            ("2130706433", "write \"127.0.0.1\""),
            ("M\u{fc}nchen.example", "write \"xn--mnchen-3ya.example\""),
            ("*", "a host cannot be left open"),
            ("*:8971", "a host cannot be left open"),
            ("a.*.org", "a host cannot be left open"),
            ("example.org:99999", "it is no host"),
            ("", "it is no host"),
        ] {
            let found = host_fault(entry).unwrap_or_default();
            assert!(found.starts_with(right), "{entry}: {found}");
        }
    }

    #[test]
    fn only_urls_of_the_web_without_credentials_are_allowed() {
        for url in [
            "file:///etc/passwd",
            "ftp://example.org/x",
            "gopher://example.org/x",
            "data:text/plain,x",
            "https://u:p@example.org/",
            "https://u@example.org/",
            "//example.org/x",
            "example.org/x",
            "",
        ] {
            assert!(!is_allowed("example.org", url), "{url}");
        }
    }

    #[test]
    fn a_redirect_is_judged_like_the_url_itself() {
        let hosts = ["example.org".to_owned()];
        let base = Url::parse("https://example.org/a/b").unwrap();
        assert_eq!(allowed(&hosts, "../c", Some(&base)).unwrap().as_str(), "https://example.org/c");
        for location in
            ["http://example.org/b", "https://evil.net/", "//evil.net/", "file:///x", "https://u:p@example.org/"]
        {
            assert!(allowed(&hosts, location, Some(&base)).is_err(), "{location}");
        }
    }

    #[test]
    fn errors_show_no_secrets_and_no_control_characters() {
        for (text, expected) in [
            ("https://user:secret@example.org/a?token=secret#secret", "https://example.org/a?..."),
            ("https://example.org/a#secret", "https://example.org/a"),
            ("https:user:secret@[bad/a", "[bad/a"),
            ("not a url\u{1b}[31m\n?secret", "not a url\\u{1b}[31m\\n?..."),
            ("https://example.org/\u{202e}x", "https://example.org/%E2%80%AEx"),
        ] {
            assert_eq!(shown_text(text), expected);
        }
        let long = shown_text(&format!("https://example.org/{}?x", "a".repeat(9000)));
        assert!(long.ends_with("a...?...") && long.len() < SHOWN + 10, "{long}");
    }
}
