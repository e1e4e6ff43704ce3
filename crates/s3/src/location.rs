//! Where a store really lies in object storage, as far as its settings tell: the service, the bucket and the prefix, however
//! the endpoint is spelled. It asks no service: two names of one host are recognised by the store's id instead.

use strongroom_storage::Overlap;

use crate::S3Settings;

/// The place of a store in object storage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BucketLocation {
    /// The ways to read the settings: service, bucket and prefix of each. The first is the plain one.
    readings: Vec<Reading>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Reading {
    service: String,
    bucket: String,
    prefix: String,
}

impl BucketLocation {
    /// The place that these settings name.
    pub fn of(settings: &S3Settings) -> Self {
        let prefix = settings.prefix.trim_matches('/').to_owned();
        let within_bucket = || join(&settings.bucket, &prefix);
        let (service, in_host) = match settings.endpoint.as_deref().map(Endpoint::of) {
            None => ("aws".to_owned(), None),
            Some(endpoint) => endpoint.service(),
        };
        let mut readings = Vec::with_capacity(2);
        // An endpoint that names a bucket in its host: what is put with path-style URLs lies below the bucket's name in it.
        if let Some((service, bucket)) = in_host {
            readings.push(Reading { service, bucket, prefix: within_bucket() });
        }
        readings.insert(0, Reading { service, bucket: settings.bucket.clone(), prefix });
        Self { readings }
    }

    /// How this place relates to another; none where they are apart.
    pub fn overlap(&self, other: &Self) -> Option<Overlap> {
        let pairs = self.readings.iter().flat_map(|one| other.readings.iter().map(move |other| (one, other)));
        pairs.filter(|(one, other)| one.service == other.service).find_map(|(one, other)| {
            let buckets = buckets_overlap(&one.bucket, &other.bucket)?;
            if buckets != Overlap::Same {
                return Some(buckets);
            }
            if one.prefix == other.prefix {
                Some(Overlap::Same)
            } else if is_within(&one.prefix, &other.prefix) {
                Some(Overlap::Within)
            } else if is_within(&other.prefix, &one.prefix) {
                Some(Overlap::Around)
            } else {
                None
            }
        })
    }
}

/// How two buckets relate, of which each may be a pattern for many: one `*` stands for any text.
fn buckets_overlap(one: &str, other: &str) -> Option<Overlap> {
    match (one.split_once('*'), other.split_once('*')) {
        (None, None) => (one == other).then_some(Overlap::Same),
        (None, Some(pattern)) => matches(one, pattern).then_some(Overlap::Within),
        (Some(pattern), None) => matches(other, pattern).then_some(Overlap::Around),
        (Some((before, after)), Some((other_before, other_after))) => {
            // Some name begins as both do and ends as both do.
            let begins = before.starts_with(other_before) || other_before.starts_with(before);
            let ends = after.ends_with(other_after) || other_after.ends_with(after);
            (begins && ends).then_some(Overlap::Same)
        }
    }
}

/// Whether a bucket is one of those of a pattern.
fn matches(bucket: &str, (before, after): (&str, &str)) -> bool {
    bucket.strip_prefix(before).and_then(|rest| rest.strip_suffix(after)).is_some_and(|name| !name.is_empty())
}

fn is_within(inner: &str, outer: &str) -> bool {
    outer.is_empty() || inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with('/'))
}

fn join(bucket: &str, prefix: &str) -> String {
    if prefix.is_empty() { bucket.to_owned() } else { format!("{bucket}/{prefix}") }
}

/// The parts of an endpoint that say which service it is.
struct Endpoint {
    /// In lower case, without a dot at the end.
    host: String,
    /// With its colon; empty where it is the one of the scheme.
    port: String,
    /// With its slash; empty where there is none.
    path: String,
}

impl Endpoint {
    fn of(url: &str) -> Self {
        let (scheme, rest) = url.split_once("://").unwrap_or(("https", url));
        let rest = rest.split(['?', '#']).next().unwrap_or_default();
        let (authority, path) = rest.split_once('/').map_or((rest, ""), |(authority, path)| (authority, path));
        let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        // The colons of an IPv6 address stand within brackets.
        let at_port = authority.rfind(':').filter(|at| !authority.get(*at..).unwrap_or_default().contains(']'));
        let (host, port) = at_port.map_or((authority, ""), |at| authority.split_at(at));
        let is_default =
            matches!((scheme.to_ascii_lowercase().as_str(), port), (_, "" | ":") | ("http", ":80") | ("https", ":443"));
        let path = path.trim_matches('/');
        Self {
            host: host.to_ascii_lowercase().trim_end_matches('.').to_owned(),
            port: if is_default { String::new() } else { port.to_owned() },
            path: if path.is_empty() { String::new() } else { format!("/{path}") },
        }
    }

    /// The service; and where the host can be read as one that names a bucket first: the service without it, and the bucket.
    fn service(&self) -> (String, Option<(String, String)>) {
        for (suffix, service) in [(".amazonaws.com", "aws"), (".amazonaws.com.cn", "aws-cn")] {
            let Some(labels) = self.host.strip_suffix(suffix) else { continue };
            let labels: Vec<&str> = labels.split('.').collect();
            // Names of buckets are unique within AWS, so the region does not matter.
            let Some(at) = labels.iter().rposition(|label| *label == "s3" || label.starts_with("s3-")) else {
                continue;
            };
            let bucket = labels.get(..at).unwrap_or_default().join(".");
            return (service.to_owned(), (!bucket.is_empty()).then(|| (service.to_owned(), bucket)));
        }
        let Self { host, port, path } = self;
        let is_address = host.starts_with('[') || host.split('.').all(|label| label.parse::<u8>().is_ok());
        let in_host = host.split_once('.').filter(|_| !is_address);
        let in_host = in_host.map(|(bucket, rest)| (format!("{rest}{port}{path}"), bucket.to_owned()));
        (format!("{host}{port}{path}"), in_host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(endpoint: &str, bucket: &str, prefix: &str) -> BucketLocation {
        BucketLocation::of(&S3Settings {
            bucket: bucket.into(),
            prefix: prefix.into(),
            endpoint: (!endpoint.is_empty()).then(|| endpoint.to_owned()),
            ..S3Settings::default()
        })
    }

    #[test]
    fn one_place_is_recognised_however_its_endpoint_is_spelled() {
        let plain = place("https://store.example.edu", "b", "p");
        for spelling in [
            "https://store.example.edu/",
            "https://store.example.edu:443",
            "https://STORE.example.edu./",
            "http://store.example.edu:80",
            "https://user@store.example.edu",
        ] {
            assert_eq!(plain.overlap(&place(spelling, "b", "p")), Some(Overlap::Same), "{spelling}");
        }
        let aws = place("", "b", "p");
        for spelling in [
            "https://s3.us-west-2.amazonaws.com",
            "https://s3.amazonaws.com:443/",
            "https://s3-us-west-2.amazonaws.com",
            "https://s3.dualstack.us-west-2.amazonaws.com",
            "https://B.s3.us-west-2.amazonaws.com",
        ] {
            assert_eq!(aws.overlap(&place(spelling, "b", "p")), Some(Overlap::Same), "{spelling}");
        }
        let address = place("http://[::1]:9000", "b", "");
        assert_eq!(address.overlap(&place("http://[::1]:9000/", "b", "")), Some(Overlap::Same));
    }

    #[test]
    fn a_bucket_named_in_the_host_is_the_bucket_of_that_name() {
        let outer = place("https://store.example.edu", "b", "");
        assert_eq!(place("https://b.store.example.edu", "x", "p").overlap(&outer), Some(Overlap::Within));
        let outer = place("", "b", "x");
        assert_eq!(place("https://b.s3.us-west-2.amazonaws.com", "x", "p").overlap(&outer), Some(Overlap::Within));
    }

    #[test]
    fn a_bucket_is_within_the_pattern_that_it_matches() {
        let at = |bucket: &str| place("", bucket, "");
        assert_eq!(at("a-*").overlap(&place("", "a-b", "p")), Some(Overlap::Around));
        assert_eq!(place("", "a-b", "p").overlap(&at("a-*")), Some(Overlap::Within));
        assert_eq!(at("a-*").overlap(&at("a-b*-c")), Some(Overlap::Same));
        for (one, other) in [("a-*", "a-"), ("a-*", "b-c"), ("a-*-x", "a-*-y"), ("a-*", "b-*")] {
            assert_eq!(at(one).overlap(&at(other)), None, "{one} {other}");
        }
        assert_eq!(at("a-*").overlap(&place("https://store.example.edu", "a-b", "")), None);
    }

    #[test]
    fn a_prefix_within_another_is_recognised_and_a_longer_name_is_not() {
        let outer = place("https://store.example.edu", "b", "p");
        assert_eq!(outer.overlap(&place("https://store.example.edu", "b", "p/q")), Some(Overlap::Around));
        assert_eq!(outer.overlap(&place("https://store.example.edu", "b", "")), Some(Overlap::Within));
        for apart in [
            place("https://store.example.edu", "b", "pq"),
            place("https://store.example.edu", "c", "p"),
            place("https://store.example.edu:8443", "b", "p"),
            place("https://store.example.org", "b", "p"),
            place("https://store.example.edu/other", "b", "p"),
            place("", "b", "p"),
        ] {
            assert_eq!(outer.overlap(&apart), None, "{apart:?}");
        }
        assert_eq!(place("http://127.0.0.1:9000", "b", "").overlap(&place("http://127.0.0.1:9001", "b", "")), None);
    }
}
