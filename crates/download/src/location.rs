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
    let Some(host) = url.host_str() else { return Err(refused("it names no host")) };
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    if !hosts.iter().any(|pattern| is_host_allowed(&pattern.to_ascii_lowercase(), &host, &url)) {
        return Err(refused("its host is not among the allowed hosts"));
    }
    url.set_fragment(None);
    Ok(url)
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
