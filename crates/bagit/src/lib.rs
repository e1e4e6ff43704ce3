//! BagIt 0.93 to 1.0: read, validate and write bags; BagIt Profiles 1.4
