//! Validates a storage root: its declaration, its layout, what lies between its objects, and every object.

use strongroom_storage::{Key, StorageError, Store};

use super::report::Report;
use super::{REGISTERED_EXTENSIONS, ValidateOptions, validate_object};
use crate::root::{LayoutFile, is_extension, read_small};
use crate::spec::declaration_text;
use crate::{Layout, OcflError, SpecVersion};

const LAYOUT_FILE: &str = "ocfl_layout.json";

/// Validates the storage root at `prefix`. Each object's report is handed to `each` with its object root as soon as it is
/// done; what is returned concerns the storage root itself, and counts its objects.
pub fn validate_root(
    store: &dyn Store,
    prefix: &Key,
    options: &ValidateOptions,
    each: &mut dyn FnMut(&Key, Report),
) -> Result<Report, OcflError> {
    let mut report = Report::new(options.limits.problems);
    let mut walk =
        Walk { store, prefix, layout: None, spec: None, declarations: Vec::new(), object: None, depths: None };
    walk.layout = walk.read_layout(&mut report)?;
    for spec in SpecVersion::ALL {
        let name = spec.root_declaration();
        if let Some(text) = read_small(store, &prefix.join(&name)?)? {
            walk.spec = Some(spec);
            if text != declaration_text(&name).as_bytes() {
                report.add("E080", name, "the declaration does not say what its name says");
            }
        }
    }
    for listed in store.list(prefix)? {
        let key = match listed {
            Ok(listed) => listed.key,
            Err(StorageError::Key(error)) => {
                report.add("E072", "", format!("a name is no key of a store: {error}"));
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        walk.take(&key, options, &mut report, each)?;
    }
    match walk.declarations.len() {
        0 => {
            report.add("E069", "", "there is no declaration of a storage root");
        }
        1 => {}
        _ => report.add("E076", "", "there is more than one declaration"),
    }
    report.sort();
    Ok(report)
}

struct Walk<'a> {
    store: &'a dyn Store,
    prefix: &'a Key,
    layout: Option<Layout>,
    spec: Option<SpecVersion>,
    declarations: Vec<String>,
    /// The object root that the listing is in.
    object: Option<Key>,
    /// Whether the objects seen lie directly in the storage root.
    depths: Option<bool>,
}

impl Walk<'_> {
    fn read_layout(&self, report: &mut Report) -> Result<Option<Layout>, OcflError> {
        let Some(text) = read_small(self.store, &self.prefix.join(LAYOUT_FILE)?)? else { return Ok(None) };
        let file = match serde_json::from_slice::<LayoutFile>(&text) {
            Ok(file) => file,
            Err(error) => {
                report.add("E070", LAYOUT_FILE, format!("not an object with extension and description: {error}"));
                return Ok(None);
            }
        };
        if !REGISTERED_EXTENSIONS.contains(&file.extension.as_str()) {
            report.add("E071", LAYOUT_FILE, format!("{:?} is not a registered extension", file.extension));
            return Ok(None);
        }
        let configuration = format!("extensions/{}/config.json", file.extension);
        let bytes = read_small(self.store, &self.prefix.join(&configuration)?)?;
        match Layout::read(&file.extension, bytes.as_deref()) {
            Ok(layout) => Ok(layout),
            Err(reason) => {
                report.add("E071", configuration, reason);
                Ok(None)
            }
        }
    }

    fn take(
        &mut self,
        key: &Key,
        options: &ValidateOptions,
        report: &mut Report,
        each: &mut dyn FnMut(&Key, Report),
    ) -> Result<(), OcflError> {
        if self.object.as_ref().is_some_and(|object| key.below(object).is_some()) {
            return Ok(());
        }
        let Some(path) = key.below(self.prefix) else { return Ok(()) };
        let Some((directory, name)) = path.rsplit_once('/') else {
            self.take_root_file(path, report);
            return Ok(());
        };
        if is_extension(path) {
            match path.splitn(3, '/').collect::<Vec<_>>().as_slice() {
                [_, extension, _] if !REGISTERED_EXTENSIONS.contains(extension) => {
                    report.add("W016", format!("extensions/{extension}"), "the extension is not registered");
                }
                [_, _] => report.add("E112", path, "a file is directly in extensions"),
                _ => {}
            }
            return Ok(());
        }
        if !name.starts_with("0=ocfl_object_") {
            report.add("E072", directory, "files are in a directory that is not an object");
            return Ok(());
        }
        let object = self.prefix.join(directory)?;
        let found = validate_object(self.store, &object, options)?;
        report.count += 1;
        self.check_place(directory, name, &found, report);
        each(&object, found);
        self.object = Some(object);
        Ok(())
    }

    fn take_root_file(&mut self, name: &str, report: &mut Report) {
        let is_declaration = name.starts_with("0=") || name.contains("=ocfl_");
        if !is_declaration {
            // Whatever else lies directly in a storage root is to be ignored (E087).
            return;
        }
        if SpecVersion::ALL.into_iter().any(|spec| spec.root_declaration() == name) {
            self.declarations.push(name.to_owned());
            return;
        }
        let code = match name.strip_prefix("0=") {
            None => "E078",
            Some(value) if value.starts_with("ocfl_object_") || !value.starts_with("ocfl_") => "E079",
            Some(_) => "E077",
        };
        report.add(code, name, "not the name of a declaration of OCFL 1.0 or 1.1");
    }

    fn check_place(&mut self, directory: &str, declaration: &str, object: &Report, report: &mut Report) {
        let of_object = SpecVersion::ALL.into_iter().find(|spec| spec.object_declaration() == declaration);
        if of_object > self.spec && self.spec.is_some() {
            let message = "the object follows a later version of the specification than its storage root";
            report.add("E081", directory, message);
        }
        let is_top = !directory.contains('/');
        if self.depths.is_some_and(|others_top| others_top != is_top) {
            report.add("W015", directory, "some objects are directly in the storage root and some do not");
        }
        self.depths.get_or_insert(is_top);
        if let (Some(layout), Some(id)) = (&self.layout, &object.id) {
            let place = layout.path(id).ok();
            if place.as_ref().is_none_or(|place| place.as_str() != directory) {
                let wanted = place.map_or_else(|| "nowhere".to_owned(), |place| format!("at {place}"));
                report.add("W014", directory, format!("the layout puts the object {id:?} {wanted}"));
            }
        }
    }
}
