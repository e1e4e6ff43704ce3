//! Wherever connections break, the same bytes come.

use std::io::Read;
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use strongroom_download::{Client, Expected, FileRequest, Policy, Retries, Supervision};
use strongroom_web_double::Behaviour;

use crate::{bytes, policy, serving};

fn framing() -> impl Strategy<Value = Vec<Behaviour>> {
    prop_oneof![
        Just(vec![]),
        Just(vec![Behaviour::NoLength]),
        Just(vec![Behaviour::UntilClose]),
        Just(vec![Behaviour::NoETag]),
        Just(vec![Behaviour::WeakETag]),
        Just(vec![Behaviour::NoRanges]),
        Just(vec![Behaviour::ShortRanges(9_000)]),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_cuts_at_random_offsets_give_the_same_bytes(
        size in 0_u32..60_000,
        cuts in vec(0_u64..60_000, 0..12),
        buffer in 1_usize..70_000,
        mut behaviours in framing(),
    ) {
        let content = bytes(size);
        behaviours.push(Behaviour::Cuts(cuts));
        let web = serving(&content, &behaviours);
        let retries = Retries { attempts: 100, first_delay: Duration::ZERO, ..Retries::default() };
        let client = Client::new(Policy { retries, ..policy(&web) }).unwrap();
        let mut body = client.open(&web.url("/f"), Expected::default(), Supervision::default()).unwrap();
        let mut found = Vec::new();
        let mut piece = vec![0; buffer];
        loop {
            let length = body.read(&mut piece).unwrap();
            if length == 0 {
                break;
            }
            found.extend_from_slice(&piece[..length]);
        }
        prop_assert!(found == content);
    }

    #[test]
    fn a_file_that_is_resumed_again_and_again_has_the_same_bytes(
        size in 1_u32..60_000,
        cuts in vec(0_u64..20_000, 0..12),
    ) {
        let content = bytes(size);
        let web = serving(&content, &[Behaviour::Cuts(cuts.clone())]);
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("f");
        let request = FileRequest { url: &web.url("/f"), target: &target, expected: &Expected::default(), algorithms: &[] };
        let retries = Retries { attempts: 1, ..Retries::default() };
        // Each attempt is another client, as another process would have one.
        let attempt = || {
            let client = Client::new(Policy { retries: retries.clone(), ..policy(&web) }).unwrap();
            client.fetch(&request, &Supervision::default())
        };
        let fetched = (0..=cuts.len()).find_map(|_| attempt().ok());
        prop_assert_eq!(fetched.map(|fetched| fetched.bytes), Some(u64::from(size)));
        prop_assert!(std::fs::read(&target).unwrap() == content);
        prop_assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
