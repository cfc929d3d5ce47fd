"""Google's SDK for Gemini, as it comes: its retry options are off by themselves."""

from google import genai
from google.genai import errors, types

import kit

client = genai.Client(api_key="none")
MODEL = "gemini-2.5-flash"


def make(call, limits):
    # What is not told stays as it comes.
    told = {}
    if "idle_ms" in limits:
        told["timeout"] = limits["idle_ms"]
    options = types.HttpOptions(
        base_url=kit.origin(call), api_version="v1beta", headers={"Wirefault-Call": str(call["id"])}, **told
    )
    try:
        if call["operation"] == "create":
            config = types.GenerateContentConfig(http_options=options)
            client.models.generate_content(model=MODEL, contents="hello", config=config)
        elif call["operation"] == "fetch":
            client.models.get(model=MODEL, config=types.GetModelConfig(http_options=options))
        else:
            raise kit.Unsupported("the API has no such operation")
    except errors.APIError as error:
        # A status that the SDK does not like is raised, and still an answer. A success
        # that it takes for an error is none.
        if error.response is None or error.code < 300:
            raise
        return kit.Response(error.code, error.response.content)
    # The SDK hands out neither status nor bytes of a success, which it takes from a
    # 200 only.
    return kit.Response(200)


kit.run(make)
