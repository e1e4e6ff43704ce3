"""Harvests a provider with sickle, and writes what it found as JSON. The argument is the base URL."""

import json
import sys

from sickle import Sickle
from sickle.oaiexceptions import BadArgument, IdDoesNotExist, NoRecordsMatch

sickle = Sickle(sys.argv[1])
identify = sickle.Identify()


def refusal(call):
    try:
        list(call())
    except (BadArgument, IdDoesNotExist, NoRecordsMatch) as error:
        return type(error).__name__
    return None


def one(call):
    return lambda: [call()]


print(
    json.dumps(
        {
            "name": identify.repositoryName,
            "granularity": identify.granularity,
            "formats": [found.metadataPrefix for found in sickle.ListMetadataFormats()],
            "sets": [found.setSpec for found in sickle.ListSets()],
            "identifiers": [found.identifier for found in sickle.ListIdentifiers(metadataPrefix="oai_dc")],
            "records": [
                [
                    found.header.identifier,
                    found.header.datestamp,
                    found.header.setSpecs,
                    found.deleted,
                    None if found.deleted else found.metadata["title"][0],
                ]
                for found in sickle.ListRecords(metadataPrefix="oai_dc")
            ],
            "window": [
                found.identifier
                for found in sickle.ListIdentifiers(
                    **{
                        "metadataPrefix": "oai_dc",
                        "set": "a",
                        "from": "2024-01-01T00:10:00Z",
                        "until": "2024-01-01T00:20:00Z",
                    }
                )
            ],
            "one": sickle.GetRecord(identifier="oai:test:001", metadataPrefix="oai_dc").metadata["title"],
            "refusals": [
                refusal(one(lambda: sickle.GetRecord(identifier="none", metadataPrefix="oai_dc"))),
                refusal(lambda: sickle.ListRecords(metadataPrefix="oai_dc", **{"from": "2030-01-01"})),
                refusal(lambda: sickle.ListRecords(metadataPrefix="oai_dc", **{"from": "yesterday"})),
            ],
        }
    )
)
