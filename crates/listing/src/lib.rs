//! What the readers of lists of files have in common: `BagIt` manifests and Checkm manifests name paths that strangers chose, and
//! name more of them than memory should hold.
//!
//! [`unsafe_reason`] and [`too_long_reason`] say why a path must not be used; [`collision_key`] is equal for paths that a system could
//! take for one; [`Sorter`] sorts records within a bound of memory; [`csv`] writes lists for spreadsheets, [`tsv`] lists with tabs. The crate
//! reads no format of a list.
//!
//! ```
//! use strongroom_listing::{collision_key, unsafe_reason};
//!
//! assert_eq!(unsafe_reason("letters/1923.txt"), None);
//! assert_eq!(unsafe_reason("../1923.txt"), Some("it has the component .."));
//! assert_eq!(collision_key("Letters.TXT"), collision_key("letters.txt"));
//! ```

pub mod csv;
mod path;
mod sorter;
pub mod tsv;

pub use path::{LONGEST_NAME, LONGEST_PATH, collision_key, normal_form, too_long_reason, unsafe_reason};
pub use sorter::{Iter, Record, Sorted, Sorter};
