//! md5, sha1, sha256, sha512 and kin of one stream in one pass
