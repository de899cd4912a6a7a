# SPDX-License-Identifier: Apache-2.0
# Python's aiohttp, which obeys the environment only when told so.
import asyncio

import aiohttp

from at_once import urls


async def fetch(session, url):
    async with session.get(url) as response:
        response.raise_for_status()
        return await response.text()


async def main():
    async with aiohttp.ClientSession(trust_env=True) as session:
        for text in await asyncio.gather(*(fetch(session, url) for url in urls())):
            print(text, end="")


asyncio.run(main())
