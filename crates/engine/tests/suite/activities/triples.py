"""Reads a JSON-LD document by rdflib, and writes its triples as a list of [subject, property, value, datatype]."""

import json
import sys

import rdflib
from rdflib import Dataset, Literal

# Values as they were written.
rdflib.NORMALIZE_LITERALS = False
document = Dataset(default_union=True)
document.parse(data=sys.stdin.buffer.read(), format="json-ld")
triples = [
    [str(subject), str(name), str(value), str(value.datatype) if isinstance(value, Literal) and value.datatype else None]
    for subject, name, value, _ in document.quads()
]
json.dump(sorted(triples, key=str), sys.stdout)
