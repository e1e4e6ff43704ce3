//! Refuses folders that several machines could reach: SQLite's locks and the shared memory of its log work between the
//! processes of one machine only (sqlite.org/wal.html, "all processes must be on the same host computer").

use std::path::Path;

use crate::DatabaseError;

use super::lock::folder_of;

/// Refuses a database whose folder lies on a network or cluster file system.
#[cfg(target_os = "linux")]
pub(super) fn refuse_network(database: &Path) -> Result<(), DatabaseError> {
    let folder = folder_of(database);
    let status = rustix::fs::statfs(folder)
        .map_err(|error| super::failure::explain_io(folder, "inspect the folder of the database", &error.into()))?;
    // The kernel's magic numbers are 32 bits wide; on some platforms the field is wider and sign-extended.
    let magic = status.f_type as u32;
    let kind = if magic == FUSE { network_fuse_of(folder) } else { network_kind(magic).map(str::to_owned) };
    match kind {
        Some(kind) => Err(DatabaseError::NetworkFileSystem { path: folder.display().to_string(), kind }),
        None => Ok(()),
    }
}

/// Other systems have no magic numbers to ask for.
#[cfg(not(target_os = "linux"))]
pub(super) fn refuse_network(_database: &Path) -> Result<(), DatabaseError> {
    let _ = folder_of;
    Ok(())
}

/// `FUSE_SUPER_MAGIC` of linux/magic.h; what lies behind it, the mount table says.
#[cfg(target_os = "linux")]
const FUSE: u32 = 0x6573_5546;

/// Network and cluster file systems by their magic number (statfs(2), linux/magic.h; the last four from
/// the table of `stat` in GNU coreutils). 9P is left out: virtual machines use it for folders of their own host.
#[cfg(target_os = "linux")]
const NETWORK_MAGIC: &[(u32, &str)] = &[
    (0x0000_6969, "NFS"),
    (0x0000_517B, "SMB"),
    (0xFE53_4D42, "SMB 2"),
    (0xFF53_4D42, "CIFS"),
    (0x0000_564C, "NCP"),
    (0x5346_414F, "AFS"),
    (0x6B41_4653, "AFS"),
    (0x7375_7245, "Coda"),
    (0x00C3_6400, "Ceph"),
    (0x0116_1970, "GFS2"),
    (0x7461_636F, "OCFS2"),
    (0x0BD0_0BD0, "Lustre"),
    (0x4750_4653, "GPFS"),
    (0xAAD7_AAEA, "PanFS"),
    (0x1983_0326, "BeeGFS"),
];

/// FUSE file systems that reach over the network, by the name behind `fuse.` in the mount table.
#[cfg(target_os = "linux")]
const NETWORK_FUSE: &[&str] = &[
    "sshfs",
    "glusterfs",
    "ceph-fuse",
    "ceph",
    "s3fs",
    "rclone",
    "goofys",
    "geesefs",
    "juicefs",
    "gcsfuse",
    "mount-s3",
    "mountpoint-s3",
    "davfs",
    "davfs2",
    "curlftpfs",
    "gvfsd-fuse",
    "blobfuse",
    "blobfuse2",
    "moosefs",
    "mfs",
    "lizardfs",
    "seaweedfs",
    "cvmfs2",
];

#[cfg(target_os = "linux")]
fn network_kind(magic: u32) -> Option<&'static str> {
    NETWORK_MAGIC.iter().find(|(known, _)| *known == magic).map(|(_, kind)| *kind)
}

#[cfg(target_os = "linux")]
fn network_fuse_of(folder: &Path) -> Option<String> {
    let folder = folder.canonicalize().ok()?;
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    let kind = mount_type(&mounts, folder.to_str()?)?;
    let subtype = kind.strip_prefix("fuse.").unwrap_or(&kind);
    NETWORK_FUSE.contains(&subtype).then_some(kind)
}

/// The file system type of the mount that `folder` lies in: the longest mount point that leads to it, the last of equals
/// (`proc_pid_mountinfo(5)`).
#[cfg(target_os = "linux")]
fn mount_type(mounts: &str, folder: &str) -> Option<String> {
    let mut best: Option<(usize, &str)> = None;
    for line in mounts.lines() {
        let Some((before, after)) = line.split_once(" - ") else { continue };
        let (Some(point), Some(kind)) = (before.split(' ').nth(4), after.split(' ').next()) else { continue };
        let point = point.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n").replace("\\134", "\\");
        let leads_here = Path::new(folder).starts_with(&point);
        if leads_here && best.is_none_or(|(length, _)| point.len() >= length) {
            best = Some((point.len(), kind));
        }
    }
    best.map(|(_, kind)| kind.to_owned())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn network_file_systems_are_known_and_local_ones_are_not() {
        assert_eq!(network_kind(0x6969), Some("NFS"));
        assert_eq!(network_kind(0xFF53_4D42), Some("CIFS"));
        for local in [0xEF53_u32, 0x9123_683E, 0x5846_5342, 0x0102_1994, 0x0102_1997] {
            assert_eq!(network_kind(local), None, "{local:#x}");
        }
    }

    #[test]
    fn the_innermost_mount_decides() {
        let mounts = "22 1 8:1 / / rw - ext4 /dev/sda rw\n\
                      30 22 0:40 / /home/a\\040b rw shared:1 - fuse.sshfs host:/x rw\n\
                      31 22 0:41 / /home rw - fuse.ntfs-3g /dev/sdb rw\n";
        assert_eq!(mount_type(mounts, "/home/a b/registry").as_deref(), Some("fuse.sshfs"));
        assert_eq!(mount_type(mounts, "/home/a").as_deref(), Some("fuse.ntfs-3g"));
        assert_eq!(mount_type(mounts, "/homestead").as_deref(), Some("ext4"));
        assert_eq!(mount_type("nonsense\n1 2 3 - \n", "/"), None);
    }
}
