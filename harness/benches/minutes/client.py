"""`retry URL` waits as long as Retry-After says; `poll URL` asks every 15 s, for
five minutes; `limit URL` gives a call four minutes."""

import signal
import sys
import time
import urllib.error
import urllib.request

what, url = sys.argv[1:]
if what == "retry":
    try:
        urllib.request.urlopen(url)
    except urllib.error.HTTPError as refused:
        time.sleep(float(refused.headers["Retry-After"]))
    urllib.request.urlopen(url).read()
elif what == "limit":
    signal.signal(signal.SIGALRM, lambda *_: sys.exit())
    signal.alarm(240)
    urllib.request.urlopen(url).read()
else:
    for _ in range(20):
        urllib.request.urlopen(url).read()
        time.sleep(15)
