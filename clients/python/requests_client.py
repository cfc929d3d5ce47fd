"""requests, as it comes; with the argument `retry`, as its documentation has people add
urllib3's Retry."""

import sys

import requests
import urllib3
from requests.adapters import HTTPAdapter

import kit

session = requests.Session()
# A server that the work names is never to be reached through a proxy.
session.trust_env = False
if "retry" in sys.argv[1:]:
    session.mount("http://", HTTPAdapter(max_retries=urllib3.Retry(3)))


def make(call, limits):
    if "redirects" in limits:
        session.max_redirects = limits["redirects"]
    seconds = [limits[name] / 1000 if name in limits else None for name in ("connect_ms", "idle_ms")]
    answer = session.request(
        call["method"],
        call["url"],
        headers=dict(kit.headers(call)),
        data=kit.body(call),
        timeout=tuple(seconds),
    )
    return kit.Response(answer.status_code, answer.content)


kit.run(make)
