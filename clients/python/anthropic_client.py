"""Anthropic's SDK, as it comes."""

import anthropic
import httpx2

import kit

client = anthropic.Anthropic(api_key="none", base_url="http://127.0.0.1")


def make(call, limits):
    # What is not told stays as it comes.
    options = {}
    if "attempts" in limits:
        options["max_retries"] = limits["attempts"] - 1
    if "connect_ms" in limits or "idle_ms" in limits:
        usual = client.timeout
        options["timeout"] = httpx2.Timeout(
            connect=limits["connect_ms"] / 1000 if "connect_ms" in limits else usual.connect,
            read=limits["idle_ms"] / 1000 if "idle_ms" in limits else usual.read,
            write=usual.write,
            pool=usual.pool,
        )
    at = client.with_options(base_url=kit.origin(call), **options)
    number = {"Wirefault-Call": str(call["id"])}
    model = "claude-sonnet-4-5"
    try:
        if call["operation"] == "create":
            words = [{"role": "user", "content": "hello"}]
            answer = at.messages.with_raw_response.create(
                model=model, messages=words, max_tokens=16, extra_headers=number
            )
        elif call["operation"] == "fetch":
            answer = at.models.with_raw_response.retrieve(model, extra_headers=number)
        else:
            raise kit.Unsupported("the API has no such operation")
    except anthropic.APIStatusError as error:
        # A status that the SDK does not like is raised, and still an answer.
        return kit.Response(error.status_code, error.response.content)
    # What most callers take; it fails where the content cannot be read.
    answer.parse()
    return kit.Response(answer.status_code, answer.http_response.content)


kit.run(make)
