"""httpx with the transport of httpx-retries, as that comes."""

import httpx
from httpx_retries import RetryTransport

import kit

# A server that the work names is never to be reached through a proxy.
client = httpx.Client(transport=RetryTransport(), trust_env=False)


def make(call, limits):
    options = {}
    if "connect_ms" in limits or "idle_ms" in limits:
        # What is not told stays as it comes.
        usual = client.timeout
        options["timeout"] = httpx.Timeout(
            connect=limits["connect_ms"] / 1000 if "connect_ms" in limits else usual.connect,
            read=limits["idle_ms"] / 1000 if "idle_ms" in limits else usual.read,
            write=usual.write,
            pool=usual.pool,
        )
    answer = client.request(
        call["method"], call["url"], headers=kit.headers(call), content=kit.body(call), **options
    )
    return kit.Response(answer.status_code, answer.content)


kit.run(make)
