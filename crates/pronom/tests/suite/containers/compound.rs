//! Writes compound files, plainly: siblings as a list, storages where paths ask for them. Keeps account of where things
//! lie, for tests that break them.

use std::collections::HashMap;

pub(super) const END: u32 = 0xFFFF_FFFE;
const FREE: u32 = 0xFFFF_FFFF;
const FAT_SECTOR: u32 = 0xFFFF_FFFD;
const DIFAT_SECTOR: u32 = 0xFFFF_FFFC;
const HEADER_DIFAT: usize = 109;

/// A compound file and its plan.
pub(super) struct Compound {
    pub(super) bytes: Vec<u8>,
    shift: u32,
    /// The sectors of the FAT.
    fat: Vec<u32>,
    /// First sectors of the directory and the mini FAT.
    pub(super) directory: u32,
    pub(super) mini_fat: u32,
    /// Number of the directory entry of each path, and the first sector of its content.
    pub(super) entries: HashMap<String, (u32, u32)>,
}

struct Entry {
    name: String,
    kind: u8,
    children: Vec<usize>,
    start: u32,
    size: u64,
}

/// Sectors in the making, with the FAT that chains them.
struct Sectors {
    length: usize,
    bytes: Vec<u8>,
    fat: Vec<u32>,
}

impl Sectors {
    /// Adds a chain of sectors that holds the content; returns its first.
    fn add(&mut self, content: &[u8]) -> u32 {
        let first = self.fat.len() as u32;
        for chunk in content.chunks(self.length) {
            self.bytes.extend(chunk);
            self.bytes.resize(self.bytes.len().next_multiple_of(self.length), 0);
            self.fat.push(self.fat.len() as u32 + 1);
        }
        match self.fat.last_mut() {
            Some(last) if !content.is_empty() => *last = END,
            _ => return END,
        }
        first
    }
}

impl Compound {
    /// A compound file of members by path, with sectors of a length given as a power of two.
    pub(super) fn new(shift: u32, members: &[(&str, &[u8])]) -> Self {
        let mut sectors = Sectors { length: 1 << shift, bytes: Vec::new(), fat: Vec::new() };
        let mut mini = Sectors { length: 64, bytes: Vec::new(), fat: Vec::new() };
        let mut tree =
            vec![Entry { name: "Root Entry".to_owned(), kind: 5, children: Vec::new(), start: END, size: 0 }];
        let mut numbers = HashMap::from([(String::new(), 0)]);
        for (path, content) in members {
            let mut parent = 0;
            let mut so_far = String::new();
            let mut names = path.split('/').peekable();
            while let Some(name) = names.next() {
                so_far = if so_far.is_empty() { name.to_owned() } else { format!("{so_far}/{name}") };
                if let Some(number) = numbers.get(&so_far) {
                    parent = *number;
                    continue;
                }
                let mut entry = Entry { name: name.to_owned(), kind: 1, children: Vec::new(), start: 0, size: 0 };
                if names.peek().is_none() {
                    let place = if content.len() < 4096 { &mut mini } else { &mut sectors };
                    entry = Entry { kind: 2, start: place.add(content), size: content.len() as u64, ..entry };
                }
                let number = tree.len();
                tree[parent].children.push(number);
                tree.push(entry);
                numbers.insert(so_far.clone(), number);
                parent = number;
            }
        }
        tree[0].start = sectors.add(&mini.bytes);
        tree[0].size = mini.bytes.len() as u64;
        let mini_fat = sectors.add(&to_bytes(&mini.fat, sectors.length));
        let directory_bytes = directory_bytes(&tree, sectors.length);
        let directory = sectors.add(&directory_bytes);
        let entries = numbers.into_iter().map(|(path, number)| (path, (number as u32, tree[number].start))).collect();
        let (bytes, fat) = finish(shift, sectors, directory, mini_fat);
        Self { bytes, shift, fat, directory, mini_fat, entries }
    }

    /// Overwrites four bytes.
    pub(super) fn put(&mut self, offset: usize, value: u32) {
        self.bytes[offset..offset + 4].copy_from_slice(&value.to_le_bytes());
    }

    /// Where a sector begins.
    pub(super) fn offset(&self, sector: u32) -> usize {
        (sector as usize + 1) << self.shift
    }

    /// Makes one sector follow another.
    pub(super) fn link(&mut self, sector: u32, next: u32) {
        let per_sector = 1 << (self.shift - 2);
        let fat_sector = self.fat[(sector / per_sector) as usize];
        let offset = self.offset(fat_sector) + (sector % per_sector) as usize * 4;
        self.put(offset, next);
    }

    /// Where the directory entry of a path begins.
    pub(super) fn entry(&self, path: &str) -> usize {
        let (number, _) = self.entries[path];
        self.offset(self.directory) + number as usize * 128
    }

    /// The first sector of the content at a path.
    pub(super) fn start(&self, path: &str) -> u32 {
        self.entries[path].1
    }
}

/// Numbers as bytes, filled up with free sectors.
fn to_bytes(numbers: &[u32], length: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    bytes.resize(bytes.len().next_multiple_of(length), 0xFF);
    bytes
}

fn directory_bytes(tree: &[Entry], sector_length: usize) -> Vec<u8> {
    let mut siblings = vec![FREE; tree.len()];
    for entry in tree {
        for pair in entry.children.windows(2) {
            siblings[pair[0]] = pair[1] as u32;
        }
    }
    let mut bytes = Vec::new();
    for (entry, sibling) in tree.iter().zip(siblings) {
        let mut record = [0; 128];
        let units: Vec<u16> = entry.name.encode_utf16().collect();
        for (index, unit) in units.iter().enumerate() {
            record[index * 2..index * 2 + 2].copy_from_slice(&unit.to_le_bytes());
        }
        record[64..66].copy_from_slice(&(units.len() as u16 * 2 + 2).to_le_bytes());
        record[66] = entry.kind;
        record[68..72].copy_from_slice(&FREE.to_le_bytes());
        record[72..76].copy_from_slice(&sibling.to_le_bytes());
        let child = entry.children.first().map_or(FREE, |child| *child as u32);
        record[76..80].copy_from_slice(&child.to_le_bytes());
        record[116..120].copy_from_slice(&entry.start.to_le_bytes());
        record[120..128].copy_from_slice(&entry.size.to_le_bytes());
        bytes.extend(record);
    }
    bytes.resize(bytes.len().next_multiple_of(sector_length), 0);
    bytes
}

/// Adds FAT, DIFAT and header; returns the file and the sectors of its FAT.
fn finish(shift: u32, sectors: Sectors, directory: u32, mini_fat: u32) -> (Vec<u8>, Vec<u32>) {
    let Sectors { length, bytes, fat } = sectors;
    let per_sector = length / 4;
    let (mut fat_count, mut difat_count) = (0, 0);
    while (fat.len() + fat_count + difat_count).div_ceil(per_sector) > fat_count {
        fat_count += 1;
        difat_count = fat_count.saturating_sub(HEADER_DIFAT).div_ceil(per_sector - 1);
    }
    let first_fat = fat.len() as u32;
    let fat_sectors: Vec<u32> = (first_fat..first_fat + fat_count as u32).collect();
    let first_difat = first_fat + fat_count as u32;
    let mut numbers = fat;
    numbers.extend(std::iter::repeat_n(FAT_SECTOR, fat_count));
    numbers.extend(std::iter::repeat_n(DIFAT_SECTOR, difat_count));

    let mut difat = fat_sectors.clone();
    difat.resize(difat.len().max(HEADER_DIFAT), FREE);
    let beyond_header = difat.split_off(HEADER_DIFAT);

    let mut file = vec![0; length];
    file[..8].copy_from_slice(&[0xD0, 0xCF, 0x11, 0xE0, 0xA1, 0xB1, 0x1A, 0xE1]);
    for (offset, value) in [(24, 0x3E), (26, if shift == 9 { 3 } else { 4 }), (28, 0xFFFE), (30, shift as u16), (32, 6)]
    {
        file[offset..offset + 2].copy_from_slice(&u16::to_le_bytes(value));
    }
    let difat_start = if difat_count == 0 { END } else { first_difat };
    let fields = [
        (44, fat_count as u32),
        (48, directory),
        (56, 4096),
        (60, mini_fat),
        (64, u32::from(mini_fat != END)),
        (68, difat_start),
        (72, difat_count as u32),
    ];
    for (offset, value) in fields {
        file[offset..offset + 4].copy_from_slice(&u32::to_le_bytes(value));
    }
    file[76..512].copy_from_slice(&to_bytes(&difat, 1));
    file.extend(bytes);
    file.extend(to_bytes(&numbers, length));
    for (index, chunk) in beyond_header.chunks(per_sector - 1).enumerate() {
        let mut sector = to_bytes(chunk, length);
        let is_last = index + 1 == difat_count;
        let next = if is_last { END } else { first_difat + index as u32 + 1 };
        sector[length - 4..].copy_from_slice(&next.to_le_bytes());
        file.extend(sector);
    }
    (file, fat_sectors)
}
