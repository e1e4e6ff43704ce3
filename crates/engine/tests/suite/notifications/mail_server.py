"""A mail server for tests: aiosmtpd, which refuses, delays, cuts, and asks for a password or encryption, as a plan says.

The plan is a JSON object, the only argument. The server prints its port, and then a JSON object for each mail that it took.

rcpt      answers to RCPT TO by address; the first of a list is used up, the last one stays
data      answers to a mail, used up one after the other; "cut" takes the mail and closes the connection without an answer
greeting  "silent": says nothing; "dribble": sends a byte now and then, and never the end of a line
user, password        asks for them
certificate, key      files with them, as PEM; offers STARTTLS and demands it, or encrypts from the beginning with tls
tls       encrypts from the beginning
no_unicode            does not offer SMTPUTF8
"""

import asyncio
import json
import logging
import ssl
import sys

from aiosmtpd.smtp import SMTP, AuthResult


def say(value):
    print(json.dumps(value), flush=True)


class Handler:
    def __init__(self, plan):
        self.plan = plan

    async def handle_RCPT(self, server, session, envelope, address, rcpt_options):
        answers = self.plan.get("rcpt", {}).get(address, [])
        answer = "250 OK"
        if answers:
            answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if answer.startswith("250"):
            envelope.rcpt_tos.append(address)
        return answer

    async def handle_DATA(self, server, session, envelope):
        answers = self.plan.get("data", [])
        answer = answers.pop(0) if answers else "250 OK"
        if answer == "cut" or answer.startswith("250"):
            say(
                {
                    "from": envelope.mail_from,
                    "to": envelope.rcpt_tos,
                    "data": envelope.original_content.decode("ascii"),
                    "encrypted": session.ssl is not None
                    or server.transport.get_extra_info("ssl_object") is not None,
                    "user": session.auth_data.login.decode() if session.auth_data else None,
                }
            )
        if answer == "cut":
            server.transport.abort()
        return answer


async def dribble(reader, writer):
    writer.write(b"220-")
    try:
        while True:
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.05)
    except (ConnectionError, OSError):
        pass


async def silent(reader, writer):
    await reader.read()


async def serve(plan):
    loop = asyncio.get_running_loop()
    context = None
    if "certificate" in plan:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(plan["certificate"], plan["key"])
    is_wrapped = bool(plan.get("tls"))

    def authenticate(server, session, envelope, mechanism, data):
        is_right = data.login == plan["user"].encode() and data.password == plan["password"].encode()
        return AuthResult(success=is_right, handled=is_right, auth_data=data)

    def protocol():
        return SMTP(
            Handler(plan),
            hostname="mail.test",
            enable_SMTPUTF8=not plan.get("no_unicode"),
            tls_context=None if is_wrapped else context,
            require_starttls=context is not None and not is_wrapped,
            authenticator=authenticate if "user" in plan else None,
            auth_required="user" in plan,
            auth_require_tls=False,
            loop=loop,
        )

    greeting = plan.get("greeting")
    if greeting:
        server = await asyncio.start_server({"dribble": dribble, "silent": silent}[greeting], "127.0.0.1", 0)
    else:
        server = await loop.create_server(protocol, "127.0.0.1", 0, ssl=context if is_wrapped else None)
    say(server.sockets[0].getsockname()[1])
    # The test holds the other end of the input, and ends the server by closing it.
    await loop.run_in_executor(None, sys.stdin.read)


# What it warns of are the faults that the plan asks for.
logging.disable(logging.CRITICAL)
asyncio.run(serve(json.loads(sys.argv[1])))
