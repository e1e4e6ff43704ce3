"""A provider of OAI-PMH by pyoai. Its argument is the number of records; it writes its port, and ends with its input."""

import sys
import threading
import types
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, parse_qsl, urlsplit

# pyoai uses one function of a module that Python no longer has.
sys.modules["cgi"] = types.ModuleType("cgi")
sys.modules["cgi"].parse_qs = parse_qs

from oaipmh import common, error, metadata, server  # noqa: E402

COUNT = int(sys.argv[1])
BEGIN = datetime(2024, 1, 1)


class Records:
    """Record N is N minutes after the beginning, in set `even` or `odd`, and deleted where N is a multiple of ten."""

    def __init__(self):
        self.all = []
        for number in range(COUNT):
            header = common.Header(
                None,
                "oai:pyoai:%04d" % number,
                BEGIN + timedelta(minutes=number),
                ["even" if number % 2 == 0 else "odd"],
                number % 10 == 0,
            )
            fields = {"title": ["<Title> & %d é" % number], "creator": ["A", "B"]}
            self.all.append((header, common.Metadata(None, fields), None))

    def identify(self):
        return common.Identify(
            repositoryName="pyoai",
            baseURL=BASE,
            protocolVersion="2.0",
            adminEmails=["admin@example.org"],
            earliestDatestamp=BEGIN,
            deletedRecord="persistent",
            granularity="YYYY-MM-DDThh:mm:ssZ",
            compression=["identity"],
        )

    def listMetadataFormats(self, identifier=None):
        return [
            (
                "oai_dc",
                "http://www.openarchives.org/OAI/2.0/oai_dc.xsd",
                "http://www.openarchives.org/OAI/2.0/oai_dc/",
            )
        ]

    def listSets(self):
        return [("even", "Even numbers", None), ("odd", "Odd numbers", None)]

    def getRecord(self, metadataPrefix, identifier):
        for record in self.all:
            if record[0].identifier() == identifier:
                return record
        raise error.IdDoesNotExistError(identifier)

    def listRecords(self, metadataPrefix, from_=None, until=None, set=None):
        if metadataPrefix != "oai_dc":
            raise error.CannotDisseminateFormatError(metadataPrefix)
        found = []
        for record in self.all:
            header = record[0]
            date = header.datestamp()
            if (from_ and date < from_) or (until and date > until) or (set and set not in header.setSpec()):
                continue
            found.append(record)
        return found

    def listIdentifiers(self, **arguments):
        return [record[0] for record in self.listRecords(**arguments)]


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        arguments = dict(parse_qsl(urlsplit(self.path).query, keep_blank_values=True))
        body = PROVIDER.handleRequest(arguments)
        self.send_response(200)
        self.send_header("Content-Type", "text/xml; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


HTTP = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
BASE = "http://127.0.0.1:%d/oai" % HTTP.server_port
REGISTRY = metadata.MetadataRegistry()
REGISTRY.registerWriter("oai_dc", server.oai_dc_writer)
PROVIDER = server.Server(Records(), REGISTRY, resumption_batch_size=10)
threading.Thread(target=HTTP.serve_forever, daemon=True).start()
print(HTTP.server_port, flush=True)
sys.stdin.read()
