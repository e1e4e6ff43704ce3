//! New names.

use std::collections::HashSet;

use proptest::prelude::*;
use strongroom_ark::{Ark, ArkError, BETANUMERIC, Minter, Naan, Shoulder, check_character, is_check_valid};

fn minter() -> Minter {
    Minter::new(Naan::new("13030").unwrap(), Shoulder::new("m5").unwrap())
}

#[test]
fn names_have_the_shoulder_the_body_and_a_check_character() {
    let minter = minter();
    assert_eq!(minter.counted_name(0).unwrap().as_str(), "ark:/13030/m500000000c");
    assert_eq!(minter.capacity(), 500_246_412_961);
    for number in [0, 1, 28, 29, 500_246_412_960] {
        let ark = minter.counted_name(number).unwrap();
        assert_eq!(ark.name().len(), 2 + 8 + 1);
        assert!(is_check_valid(&ark) && minter.could_make(&ark), "{ark}");
        assert_eq!(ark.as_str().parse::<Ark>().unwrap(), ark);
    }
    let two = minter.with_body(2).unwrap();
    assert_eq!(two.counted_name(28 * 29 + 1).unwrap().name().get(..4), Some("m5z1"));
}

#[test]
fn a_counter_goes_through_every_name_once_and_ends() {
    let minter = minter().with_body(2).unwrap();
    let names: HashSet<Ark> = (0..841).map(|number| minter.counted_name(number).unwrap()).collect();
    assert_eq!(names.len(), 841);
    assert_eq!(minter.counted_name(841), Err(ArkError::Exhausted { number: 841, capacity: 841 }));
}

#[test]
fn a_body_has_one_to_sixteen_characters() {
    for length in [0, 17] {
        assert_eq!(minter().with_body(length), Err(ArkError::Body { given: length, longest: 16 }));
    }
    let longest = minter().with_body(16).unwrap();
    assert!(longest.could_make(&longest.random_name(u128::MAX)));
}

#[test]
fn a_shoulder_is_consonants_and_one_digit() {
    for valid in ["m5", "fk4", "b0", "qt1"] {
        assert_eq!(Shoulder::new(valid).unwrap().as_str(), valid);
    }
    for wrong in ["", "m", "5", "m55", "m5a", "M5", "a5", "l5", "m-5", "m5/", "é5", "bbbbbbbbbbbbbbbb1"] {
        assert!(matches!(Shoulder::new(wrong), Err(ArkError::Shoulder { .. })), "{wrong}");
    }
}

#[test]
fn names_of_others_are_not_names_of_this_minter() {
    let minter = minter();
    let own = minter.random_name(7);
    assert!(minter.could_make(&own));
    let other = Minter::new(Naan::new("99999").unwrap(), Shoulder::new("fk4").unwrap()).random_name(7);
    for ark in [other, format!("{own}/page").parse().unwrap(), "ark:/13030/m5abc".parse().unwrap()] {
        assert!(!minter.could_make(&ark), "{ark}");
    }
}

proptest! {
    #[test]
    fn a_wrong_character_and_two_exchanged_ones_are_found(bits: u128, at in 0_usize..15, other in 0_usize..29) {
        let name = minter().random_name(bits).as_str().strip_prefix("ark:/").unwrap().to_owned();
        let is_valid = |text: &[char]| {
            let (last, rest) = text.split_last().unwrap();
            check_character(&rest.iter().collect::<String>()) == *last
        };
        let characters: Vec<char> = name.chars().collect();
        prop_assert!(is_valid(&characters));
        let mut wrong = characters.clone();
        let position = at.min(characters.len() - 1);
        wrong[position] = BETANUMERIC.chars().nth(other).unwrap();
        if characters[position] != '/' && wrong != characters {
            prop_assert!(!is_valid(&wrong));
        }
        let mut exchanged = characters.clone();
        exchanged.swap(position, position + 1);
        if exchanged != characters && characters[position] != '/' && characters[position + 1] != '/' {
            prop_assert!(!is_valid(&exchanged));
        }
    }
}
