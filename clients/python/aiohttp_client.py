"""aiohttp, as it comes."""

import asyncio

import aiohttp
import attr

import kit
import kit_asyncio

TIMEOUTS = {"connect_ms": "sock_connect", "idle_ms": "sock_read", "total_ms": "total"}


async def main():
    async with aiohttp.ClientSession() as session:

        async def make(call, limits):
            options = {}
            told = {TIMEOUTS[limit]: limits[limit] / 1000 for limit in TIMEOUTS if limit in limits}
            if told:
                # What is not told stays as it comes.
                options["timeout"] = attr.evolve(session.timeout, **told)
            if "redirects" in limits:
                options["max_redirects"] = limits["redirects"]
            request = session.request(
                call["method"],
                call["url"],
                headers=kit.headers(call),
                data=kit_asyncio.body(call),
                **options,
            )
            async with request as answer:
                if call["events"] is None:
                    return kit.Response(answer.status, await answer.read())
                pieces = answer.content.iter_any()
                return kit.Response(
                    answer.status, await kit_asyncio.content(call, answer.status, pieces)
                )

        await kit_asyncio.run(make)


asyncio.run(main())
