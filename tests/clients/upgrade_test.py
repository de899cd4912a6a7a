# SPDX-License-Identifier: Apache-2.0
# WebSockets: an Upgrade through the proxy in each way, under the same limits as requests.
"""The origin is Python's websockets, which greets who greets it."""
import asyncio
import threading

import websockets

from case import program
from interception_test import Intercepted
from limited import COUNT, Limited
from origin import HOLD, Book
from stage import NAME, Identity, NameServer


class Greeter:
    """Answers the first message of each WebSocket, after a while."""

    def __init__(self, tls=None):
        self.book = Book()
        self.loop = asyncio.new_event_loop()
        self.server = self.loop.run_until_complete(self.listen(tls))
        self.port = self.server.sockets[0].getsockname()[1]
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()

    async def listen(self, tls):
        return await websockets.serve(self.greet, "127.0.0.1", 0, ssl=tls)

    async def greet(self, socket, _path=None):
        self.book.enter()
        said = await socket.recv()
        await asyncio.sleep(HOLD)
        self.book.leave()  # before the answer: who has it closes, and lets the next go
        await socket.send(said)
        await socket.wait_closed()

    def stop(self):
        async def close():
            self.server.close()
            await self.server.wait_closed()
        asyncio.run_coroutine_threadsafe(close(), self.loop).result()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()


class WebSocket(Limited):
    """Through http_proxy; undici tunnels ws:// as it tunnels http://."""

    tls = False
    elsewhere = "access: {{ connectPorts: [{port}], plainPorts: [{port}] }}"

    def start_origin(self):
        self.identity = Identity(self.folder.name)
        self.names = NameServer()
        self.addCleanup(self.names.stop)
        self.origin = Greeter(self.identity.tls if self.tls else None)

    def base(self):
        return f"ws://{NAME}:{self.origin.port}"

    def check_events(self, ended, count):
        self.assertEqual(len(ended), count)
        for event in ended:
            self.assertEqual((event["upstream"], event["host"], event["status"]), ("api", NAME, 101))

    def test_undici(self):
        self.ask("websocket.mjs")


class OriginatedWebSocket(WebSocket):
    tls = True
    upstream = "    https: originate\n    tls: {{ ca: {ca} }}\n"


class TunnelledWebSocket(WebSocket):
    """wss:// is TLS from end to end, and a tunnel as any other."""

    tls = True
    elsewhere = "access: {{ connectPorts: [{port}] }}"

    def base(self):
        return f"wss://{NAME}:{self.origin.port}"

    def check_events(self, ended, count):
        self.check_tunnels(ended, count)


class InterceptedWebSocket(Intercepted):
    """wss:// again, but each of them is a request with a path."""

    def start_origin(self):
        super().start_origin()
        self.origin.stop()
        self.origin = Greeter(self.identity.tls)

    def check_events(self, ended, count):
        self.assertEqual(len(ended), count)
        self.assertEqual(sorted(event["path"] for event in ended), [f"/held/{number}" for number in range(1, count + 1)])
        for event in ended:
            self.assertEqual((event["upstream"], event["host"], event["status"]), ("api", NAME, 101))

    def test_undici(self):
        done = self.execute(f'"$@" ws${{near#http}}/held/ {COUNT}', *program("websocket.mjs"))
        self.assert_all_said(done, [f"hello {number}" for number in range(1, COUNT + 1)])
        self.assert_held(COUNT)


class GatewayWebSocket(WebSocket):
    tls = True
    upstream = "    baseUrl: https://" + NAME + ":{port}\n    tls: {{ ca: {ca} }}\n"

    def base(self):
        return self.proxy.url.replace("http:", "ws:") + "/@api"

    def variables(self):
        return {}

    def test_websockets_of_python(self):
        self.ask("websocket_client.py")
