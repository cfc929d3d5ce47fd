"""The Python kit: what a program under test needs to speak with wirefault.

The work is the first line on stdin; reports go to stdout, a line each. The
program ends by itself when its last call has reported and nothing that it
started is left; nothing here exits before that. Only the standard library.
"""

import errno
import hashlib
import json
import sys
import time

PROTOCOL = 1
# Bytes of a body that a report quotes.
START = 256
# Bytes of a piece of a stream.
PIECE = 16384
# Links after which an error chain is cut.
LONGEST = 16


class Unsupported(Exception):
    """Raised by a client that cannot do the work."""


class Response:
    """What a client showed its caller: a status and a whole body."""

    def __init__(self, status, body):
        self.status = status
        self.body = body

    def shown(self):
        return {
            "status": self.status,
            "body_bytes": len(self.body),
            "body_sha256": hashlib.sha256(self.body).hexdigest(),
            "body_start": self.body[:START].decode("utf-8", "replace"),
        }


def send(message):
    """Writes one message: a whole line, out at once."""
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def progress(call, state):
    send({"progress": {"call": call["id"], "state": state}})


def run(make):
    """Makes all calls of the work, one after the other.

    `make(call, limits)` makes one call and returns a Response, or raises.
    """
    line = sys.stdin.readline()
    if not line:
        raise SystemExit("no work on stdin: wirefault starts this program")
    work = json.loads(line)
    if work["protocol"] != PROTOCOL:
        raise SystemExit(f"protocol version {work['protocol']}, this client speaks {PROTOCOL}")
    for call in work["calls"]:
        time.sleep(call.get("pause_ms", 0) / 1000)
        progress(call, "pending")
        try:
            response = make(call, work["limits"])
            shown = {"response": response.shown()}
            state = "succeeded" if 200 <= response.status < 300 else "failed"
        except Unsupported as error:
            send({"unsupported": {"reason": str(error)}})
            return
        except Exception as error:
            shown = {"error": chain(error)}
            state = "failed"
        progress(call, state)
        send({"report": {"call": call["id"], "shown": shown}})


def headers(call):
    """The header fields of a call, with its number."""
    return [*map(tuple, call.get("headers", [])), ("Wirefault-Call", str(call["id"]))]


def body(call):
    """The content of a call: bytes, a stream of them, or None."""
    content = call.get("body")
    if content is None:
        return None
    if "file" in content:
        with open(content["file"], "rb") as file:
            content = file.read()
    else:
        content = content["text"].encode()
    if call.get("stream_body"):
        return (content[at : at + PIECE] for at in range(0, len(content), PIECE))
    return content


def chain(error):
    """The chain of an error and what it came from, outermost first."""
    links = []
    at = "error"
    while isinstance(error, BaseException) and len(links) < LONGEST:
        kind = type(error)
        link = {"type": kind.__name__, "message": str(error), "at": at}
        if kind.__module__ != "builtins":
            link["type"] = f"{kind.__module__}.{kind.__name__}"
        number = getattr(error, "errno", None)
        if isinstance(number, int):
            link["errno"] = number
            link["code"] = errno.errorcode.get(number)
        links.append({key: value for key, value in link.items() if value is not None})
        error, step = below(error)
        at += step
    return links


def below(error):
    """What an error came from, and where in it that sits."""
    reason = getattr(error, "reason", None)
    if isinstance(reason, BaseException):
        return reason, ".reason"
    if error.__cause__ is not None:
        return error.__cause__, ".__cause__"
    if error.__context__ is not None and not error.__suppress_context__:
        return error.__context__, ".__context__"
    return None, ""
