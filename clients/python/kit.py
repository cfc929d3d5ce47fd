"""The Python kit: what a program under test needs to speak with wirefault.

The work is the first line on stdin; reports go to stdout, a line each. The
program ends by itself when its last call has reported and nothing that it
started is left; nothing here exits before that. Only the standard library.
"""

import codecs
import errno
import hashlib
import http.client
import json
import re
import sys
import threading
import time
import urllib.parse

PROTOCOL = 1
# Bytes of a body that a report quotes.
START = 256
# Bytes of a piece of a stream.
PIECE = 16384
# Links after which an error chain is cut.
LONGEST = 16


class Unsupported(Exception):
    """Raised by a client that cannot do the work."""


class StreamEnded(Exception):
    """A list of events ended, in whatever order, before its last one."""


class Response:
    """What a client showed its caller: a status and a whole body, or None where it
    hands out no bytes."""

    def __init__(self, status, body=None):
        self.status = status
        self.body = body

    def shown(self):
        if self.body is None:
            return {"status": self.status}
        return {
            "status": self.status,
            "body_bytes": len(self.body),
            "body_sha256": hashlib.sha256(self.body).hexdigest(),
            "body_start": self.body[:START].decode("utf-8", "replace"),
        }


class Events:
    """Reads a list of server-sent events (WHATWG HTML, section 9.2.6) as it comes."""

    def __init__(self, ends_with):
        # Ids of the events that the caller was given.
        self.ids = []
        self.ends_with = ends_with
        self.decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self.rest = ""
        self.id = self.data = None
        self.ended = False

    def take(self, piece):
        self.rest += self.decoder.decode(piece)
        # A CR at the end may be half of a CRLF.
        *lines, self.rest = re.split(r"\r\n|\n|\r(?!\Z)", self.rest)
        for line in lines:
            self.line(line)

    def end(self):
        """The list is over: it must have come to its last event."""
        if self.rest.endswith("\r"):
            self.line(self.rest[:-1])
        if self.ends_with is not None and not self.ended:
            raise StreamEnded("the list ended before its last event")

    def line(self, line):
        if line == "":
            if self.data is not None:
                if self.id is not None:
                    self.ids.append(self.id)
                self.ended |= self.data == self.ends_with
            self.id = self.data = None
            return
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "id" and "\0" not in value:
            self.id = value
        elif field == "data":
            self.data = value if self.data is None else f"{self.data}\n{value}"


OUT = threading.Lock()


def send(message):
    """Writes one message: a whole line, out at once."""
    with OUT:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()


def progress(call, state):
    send({"progress": {"call": call["id"], "state": state}})


def run(make):
    """Makes all calls of the work: group after group, and in a group so many at the
    same time as `at_once` says, in threads.

    `make(call, limits)` makes one call and returns a Response, or raises.
    """
    line = sys.stdin.readline()
    if not line:
        raise SystemExit("no work on stdin: wirefault starts this program")
    work = json.loads(line)
    if work["protocol"] != PROTOCOL:
        raise SystemExit(f"protocol version {work['protocol']}, this client speaks {PROTOCOL}")
    for group in groups(work["calls"]):
        # Whoever is free takes the next one.
        waiting = Waiting(group)
        at_once = group[0].get("at_once", 1)
        if at_once == 1:
            waiting.work_off(make, work["limits"])
        else:
            work_off_beside(waiting, at_once, make, work["limits"])
        if waiting.unsupported:
            send({"unsupported": {"reason": waiting.unsupported}})
            return


def work_off_beside(waiting, at_once, make, limits):
    workers = [
        threading.Thread(target=waiting.work_off, args=(make, limits)) for _ in range(at_once)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def groups(calls):
    """Calls that are made beside each other; one without a group is alone."""
    together = []
    for call in calls:
        group = call.get("group", 0)
        if group and together and together[-1][0].get("group") == group:
            together[-1].append(call)
        else:
            together.append([call])
    return together


class Waiting:
    """Calls that are yet to be made, for several threads."""

    def __init__(self, calls):
        self.calls = iter(calls)
        self.lock = threading.Lock()
        self.unsupported = None

    def next(self):
        with self.lock:
            return None if self.unsupported else next(self.calls, None)

    def work_off(self, make, limits):
        while call := self.next():
            try:
                one(call, make, limits)
            except Unsupported as error:
                self.unsupported = str(error)


def one(call, make, limits):
    """Makes one call and reports it."""
    stream = call.get("stream")
    events = None if stream is None else Events(stream.get("ends_with"))
    call["events"] = events
    time.sleep(call.get("pause_ms", 0) / 1000)
    progress(call, "pending")
    try:
        response = make(call, limits)
        shown = {"response": response.shown()}
        state = "succeeded" if 200 <= response.status < 300 else "failed"
    except Unsupported:
        raise
    except Exception as error:
        shown = {"error": chain(error)}
        state = "failed"
    progress(call, state)
    report = {"call": call["id"], "shown": shown}
    if events is not None:
        report["events"] = events.ids
    send({"report": report})


def content(call, answer):
    """The whole content of an answer, anything with `status`, `read` and `read1`. A list
    of events is handed on as it comes."""
    events = call["events"]
    if events is None or not 200 <= answer.status < 300:
        return answer.read()
    pieces = []
    while piece := answer.read1(PIECE):
        pieces.append(piece)
        events.take(piece)
    if getattr(answer, "length", None):
        # `read1` takes an end that comes too soon for the end.
        raise http.client.IncompleteRead(b"".join(pieces), answer.length)
    events.end()
    return b"".join(pieces)


def headers(call):
    """The header fields of a call, with its number."""
    return [*map(tuple, call.get("headers", [])), ("Wirefault-Call", str(call["id"]))]


def origin(call):
    """The origin of a call's URL: for a client of an API, which knows the rest itself."""
    url = urllib.parse.urlsplit(call["url"])
    return f"{url.scheme}://{url.netloc}"


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
