//! Which addresses may be connected to. The address that is judged is the one that is connected to, so a name that resolves to
//! another address later gains nothing.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;
use url::Url;

use crate::location::is_among;
use crate::policy::Policy;

/// Resolves names to public addresses, and to others only where they are allowed.
#[derive(Debug)]
pub(crate) struct PublicResolver {
    inner: DefaultResolver,
    allow_private: bool,
    private_hosts: Vec<String>,
}

impl PublicResolver {
    pub(crate) fn new(policy: &Policy) -> Self {
        Self {
            inner: DefaultResolver::default(),
            allow_private: policy.allow_private_networks,
            private_hosts: policy.private_hosts.clone(),
        }
    }

    fn may_be_private(&self, uri: &Uri) -> bool {
        self.allow_private || Url::parse(&uri.to_string()).is_ok_and(|url| is_among(&self.private_hosts, &url))
    }
}

impl Resolver for PublicResolver {
    fn resolve(&self, uri: &Uri, config: &Config, timeout: NextTimeout) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let found = self.inner.resolve(uri, config, timeout)?;
        if self.may_be_private(uri) {
            return Ok(found);
        }
        let mut public = self.empty();
        for address in found.iter().filter(|address| is_public(address.ip())) {
            public.push(*address);
        }
        if public.is_empty() {
            return Err(ureq::Error::Io(io::Error::new(io::ErrorKind::PermissionDenied, NotPublic)));
        }
        Ok(public)
    }
}

/// The host has no address that may be connected to.
#[derive(Debug)]
pub(crate) struct NotPublic;

impl fmt::Display for NotPublic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("its host has no address in a public network")
    }
}

impl std::error::Error for NotPublic {}

/// Whether an address belongs to the public Internet (IANA special-purpose address registries, RFC 6890).
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => match address.to_ipv4_mapped() {
            Some(address) => is_public_v4(address),
            None => is_public_v6(address),
        },
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [first, second, third, _] = address.octets();
    !(first == 0
        || first >= 224
        || address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation()
        || (first == 100 && (64..128).contains(&second))
        || (first == 192 && second == 0 && third == 0)
        || (first == 192 && second == 88 && third == 99)
        || (first == 198 && (18..20).contains(&second)))
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.segments();
    // Global unicast only; within it not the protocol assignments with Teredo, documentation, and 6to4.
    (0x2000..0x4000).contains(&first)
        && !(first == 0x2001 && (second < 0x200 || second == 0xdb8))
        && first != 0x2002
        && first != 0x3fff
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_private_and_special_networks_are_not_public() {
        for address in [
            "127.0.0.1",
            "127.255.255.254",
            "10.1.2.3",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "100.127.255.255",
            "0.0.0.0",
            "0.1.2.3",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "198.18.0.1",
            "198.19.255.255",
            "192.0.2.1",
            "192.0.0.8",
            "192.88.99.1",
            "198.51.100.1",
            "203.0.113.1",
            "::1",
            "::",
            "::127.0.0.1",
            "fe80::1",
            "fec0::1",
            "fc00::1",
            "fd00:ec2::254",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:169.254.169.254",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "100::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "2001::1",
            "2001:20::1",
            "3fff::1",
            "5f00::1",
        ] {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
        for address in [
            "140.147.249.9",
            "1.1.1.1",
            "100.63.255.255",
            "100.128.0.1",
            "172.15.0.1",
            "172.32.0.1",
            "198.17.0.1",
            "198.20.0.1",
            "223.255.255.255",
            "2606:4700::1111",
            "2001:4860:4860::8888",
            "::ffff:1.1.1.1",
        ] {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
    }
}
