# SPDX-License-Identifier: Apache-2.0
# Python's websockets, which knows of no proxy: through the gateway.
import asyncio

import websockets

from at_once import urls


async def say_hello(url):
    async with websockets.connect(url, open_timeout=60) as socket:
        await socket.send(f"hello {url.rsplit('/', 1)[1]}\n")
        return await socket.recv()


async def main():
    for text in await asyncio.gather(*(say_hello(url) for url in urls())):
        print(text, end="")


asyncio.run(main())
