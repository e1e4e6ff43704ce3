//! OCFL 1.1 objects: plan, write, read, validate and purge, over any store
