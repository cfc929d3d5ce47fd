"""requests in tenacity, as tenacity's documentation puts `retry` on a function: so many
attempts, with a fixed wait between them, for one type of error."""

import requests
from tenacity import retry, retry_if_exception_type, stop_after_attempt, wait_fixed

import kit

session = requests.Session()
# A server that the work names is never to be reached through a proxy.
session.trust_env = False


@retry(
    stop=stop_after_attempt(3),
    wait=wait_fixed(2),
    retry=retry_if_exception_type(requests.ConnectionError),
)
def request(*args, **options):
    return session.request(*args, **options)


def make(call, limits):
    if "redirects" in limits:
        session.max_redirects = limits["redirects"]
    seconds = [limits[name] / 1000 if name in limits else None for name in ("connect_ms", "idle_ms")]
    answer = request(
        call["method"],
        call["url"],
        headers=dict(kit.headers(call)),
        data=kit.body(call),
        timeout=tuple(seconds),
    )
    return kit.Response(answer.status_code, answer.content)


kit.run(make)
