"""urllib3, as it comes: it sends again by itself."""

import urllib3

import kit

pool = urllib3.PoolManager()


def make(call, limits):
    seconds = {}
    if "connect_ms" in limits:
        seconds["connect"] = limits["connect_ms"] / 1000
    if "idle_ms" in limits:
        seconds["read"] = limits["idle_ms"] / 1000
    options = {"timeout": urllib3.Timeout(**seconds)} if seconds else {}
    answer = pool.request(
        call["method"], call["url"], body=kit.body(call), headers=dict(kit.headers(call)), **options
    )
    return kit.Response(answer.status, answer.data)


kit.run(make)
