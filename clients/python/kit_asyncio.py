"""The Python kit for clients that run in asyncio.

The event loop runs from the first call to the last, in the pauses between calls too:
that is when such a client notices that a connection which it keeps has ended. The
program ends by itself when its last call has reported and no task is left.
"""

import asyncio
import json
import os
import sys

import kit


async def run(make):
    """Makes all calls of the work: group after group, and in a group so many at the
    same time as `at_once` says, in tasks.

    `await make(call, limits)` makes one call and returns a Response, or raises. A call
    that is cancelled has its task cancelled.
    """
    session = Session()
    work = await session.work
    if work["protocol"] != kit.PROTOCOL:
        raise SystemExit(f"protocol version {work['protocol']}, this client speaks {kit.PROTOCOL}")
    for group in kit.groups(work["calls"]):
        # Whoever is free takes the next one.
        waiting = iter(group)
        workers = [
            work_off(waiting, session, make, work["limits"])
            for _ in range(group[0].get("at_once", 1))
        ]
        unsupported = [reason for reason in await asyncio.gather(*workers) if reason]
        if unsupported:
            kit.send({"unsupported": {"reason": unsupported[0]}})
            break
    # What the client still has in hand is not ended here.
    while others := asyncio.all_tasks() - {asyncio.current_task()}:
        await asyncio.wait(others)
    session.close()


class Session:
    """What is said on stdin: first the work, then orders to cancel."""

    def __init__(self):
        self.loop = asyncio.get_running_loop()
        self.work = self.loop.create_future()
        self.rest = b""
        # Calls that are under way, and those that nobody wants any more.
        self.tasks = {}
        self.cancelled = set()
        self.loop.add_reader(sys.stdin.fileno(), self.read)

    def read(self):
        piece = os.read(sys.stdin.fileno(), kit.PIECE)
        if not piece:
            self.close()
            if not self.work.done():
                self.work.set_exception(
                    SystemExit("no work on stdin: wirefault starts this program")
                )
            return
        *lines, self.rest = (self.rest + piece).split(b"\n")
        for line in lines:
            said = json.loads(line)
            if not self.work.done():
                self.work.set_result(said)
            elif "cancel" in said:
                call = said["cancel"]["call"]
                self.cancelled.add(call)
                if call in self.tasks:
                    self.tasks[call].cancel()

    def close(self):
        self.loop.remove_reader(sys.stdin.fileno())


async def work_off(waiting, session, make, limits):
    """Makes one call after the other; says why, if the client cannot."""
    for call in waiting:
        try:
            await one(call, session, make, limits)
        except kit.Unsupported as error:
            return str(error)
    return None


async def one(call, session, make, limits):
    """Makes one call and reports it."""
    stream = call.get("stream")
    events = None if stream is None else kit.Events(stream.get("ends_with"))
    call["events"] = events
    await asyncio.sleep(call.get("pause_ms", 0) / 1000)
    kit.progress(call, "pending")
    task = asyncio.ensure_future(make(call, limits))
    session.tasks[call["id"]] = task
    if call["id"] in session.cancelled:
        task.cancel()
    try:
        response = await task
        shown = {"response": response.shown()}
        state = "succeeded" if 200 <= response.status < 300 else "failed"
    except kit.Unsupported:
        raise
    except asyncio.CancelledError as error:
        # Only an order of the caller makes that a cancelled call.
        ordered = call["id"] in session.cancelled
        shown = {"cancelled": {}} if ordered else {"error": kit.chain(error)}
        state = "failed"
    except Exception as error:
        shown = {"error": kit.chain(error)}
        state = "failed"
    finally:
        del session.tasks[call["id"]]
    kit.progress(call, state)
    report = {"call": call["id"], "shown": shown}
    if events is not None:
        report["events"] = events.ids
    kit.send({"report": report})


async def content(call, status, pieces):
    """The whole content of an answer, of which `pieces` come one after the other. A list
    of events is handed on as it comes."""
    events = call["events"] if 200 <= status < 300 else None
    whole = []
    async for piece in pieces:
        whole.append(piece)
        if events is not None:
            events.take(piece)
    if events is not None:
        events.end()
    return b"".join(whole)


def body(call):
    """The content of a call: bytes, a stream of them, or None."""
    content = kit.body(call)
    return stream(content) if call.get("stream_body") and content is not None else content


async def stream(pieces):
    for piece in pieces:
        yield piece
