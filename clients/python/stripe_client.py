"""Stripe's SDK, as it comes: with what is set in its module, or with the argument
`client` with a StripeClient."""

import sys
import threading

import stripe

import kit

KEY = "sk_test_none"
stripe.api_key = KEY


def timeouts(limits):
    """An HTTP client that keeps to them; none, where nothing is told."""
    if "connect_ms" not in limits and "idle_ms" not in limits:
        return None
    usual = 80
    return stripe.RequestsClient(
        timeout=(
            limits["connect_ms"] / 1000 if "connect_ms" in limits else usual,
            limits["idle_ms"] / 1000 if "idle_ms" in limits else usual,
        )
    )


class ByModule:
    def __init__(self, origin, limits):
        self.origin = origin
        if stripe.default_http_client is None:
            stripe.default_http_client = timeouts(limits)

    def create(self, order, options):
        stripe.api_base = self.origin
        return stripe.Charge.create(**order, **options)

    def retrieve(self, number, options):
        stripe.api_base = self.origin
        return stripe.Charge.retrieve(number, **options)


class ByClient:
    def __init__(self, origin, limits):
        client = stripe.StripeClient(
            KEY, base_addresses={"api": origin}, http_client=timeouts(limits)
        )
        self.charges = client.v1.charges

    def create(self, order, options):
        return self.charges.create(order, options)

    def retrieve(self, number, options):
        return self.charges.retrieve(number, options=options)


way = ByClient if "client" in sys.argv[1:] else ByModule
at = {}
making = threading.Lock()


def make(call, limits):
    origin = kit.origin(call)
    with making:
        if origin not in at:
            at[origin] = way(origin, limits)
    options = {"headers": {"Wirefault-Call": str(call["id"])}}
    if "attempts" in limits:
        options["max_network_retries"] = limits["attempts"] - 1
    try:
        if call["operation"] == "create":
            order = {"amount": 100, "currency": "usd", "source": "tok_visa"}
            charge = at[origin].create(order, options)
        elif call["operation"] == "fetch":
            charge = at[origin].retrieve("ch_1", options)
        else:
            raise kit.Unsupported("the API has no such operation")
    except stripe.StripeError as error:
        # A status that the SDK does not like is raised, and still an answer. A success
        # that it cannot read is none.
        if error.http_status is None or error.http_status < 300:
            raise
        return kit.Response(error.http_status, (error.http_body or "").encode())
    answer = charge.last_response
    return kit.Response(answer.code, answer.body.encode())


kit.run(make)
