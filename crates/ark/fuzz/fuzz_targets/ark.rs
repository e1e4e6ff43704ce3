//! Texts that may be ARKs: the normal form of one is read as the same ARK, and is its own normal form.
#![no_main]

use libfuzzer_sys::fuzz_target;
use strongroom_ark::{Ark, is_check_valid};

fuzz_target!(|text: &str| {
    let Ok(ark) = text.parse::<Ark>() else { return };
    assert!(ark.as_str().len() <= Ark::LONGEST);
    assert_eq!(ark.as_str().parse::<Ark>().as_ref().map(Ark::as_str), Ok(ark.as_str()));
    let again: Ark = ark.normal().parse().expect("a normal form is an ARK");
    assert_eq!((again.normal(), again.as_str()), (ark.normal(), ark.normal()));
    assert_eq!(again, ark);
    assert_eq!(is_check_valid(&again), is_check_valid(&ark));
});
