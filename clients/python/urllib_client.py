"""Python's urllib.request, as it comes."""

import resource
import urllib.error
import urllib.request

import kit

# `read()` keeps the whole answer, as most callers do; an endless one shall take
# this program with it, not the machine.
MEMORY = 1 << 30

# A server that the work names is never to be reached through a proxy.
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def make(call, limits):
    options = {}
    # The one timeout that there is belongs to the socket: it is for connecting,
    # and then for every wait for bytes.
    if "idle_ms" in limits:
        options["timeout"] = limits["idle_ms"] / 1000
    request = urllib.request.Request(call["url"], kit.body(call), method=call["method"])
    for name, value in kit.headers(call):
        request.add_header(name, value)
    try:
        answer = opener.open(request, **options)
    except urllib.error.HTTPError as error:
        # A status that urllib does not like is raised, and still an answer.
        answer = error
    with answer:
        return kit.Response(answer.status, kit.content(call, answer))


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    kit.run(make)
