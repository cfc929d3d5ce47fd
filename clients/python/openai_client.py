"""OpenAI's SDK, as it comes."""

import httpx2
import openai

import kit

client = openai.OpenAI(api_key="none", base_url="http://127.0.0.1")


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
    at = client.with_options(base_url=f"{kit.origin(call)}/v1", **options)
    completions = at.chat.completions.with_raw_response
    number = {"Wirefault-Call": str(call["id"])}
    try:
        if call["operation"] == "create":
            words = [{"role": "user", "content": "hello"}]
            answer = completions.create(model="gpt-5", messages=words, extra_headers=number)
        elif call["operation"] == "fetch":
            answer = completions.retrieve("chatcmpl-1", extra_headers=number)
        else:
            raise kit.Unsupported("the API has no such operation")
    except openai.APIStatusError as error:
        # A status that the SDK does not like is raised, and still an answer.
        return kit.Response(error.status_code, error.response.content)
    # What most callers take; it fails where the content cannot be read.
    answer.parse()
    return kit.Response(answer.status_code, answer.content)


kit.run(make)
