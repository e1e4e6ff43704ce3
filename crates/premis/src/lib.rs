//! PREMIS 3 documents out of records
