// SPDX-License-Identifier: Apache-2.0
// Node's clients through the proxy: client.mjs undici|tunnelling|axios PROXY ORIGIN. Prints "all well", or fails.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';

const [client, proxy, origin] = process.argv.slice(2);
const big = randomBytes(3 * 1024 * 1024);
const digest = (bytes) => createHash('sha256').update(bytes).digest('hex');

async function undici(proxyTunnel = false) {
  const { ProxyAgent, request } = await import('undici');
  const dispatcher = new ProxyAgent({ uri: proxy, proxyTunnel });
  const hello = await request(new URL('files/hello.txt', origin), { dispatcher });
  assert.equal(hello.statusCode, 200);
  assert.equal(await hello.body.text(), 'hello\n');
  const echo = await request(new URL('echo', origin), { dispatcher, method: 'POST', body: big });
  assert.equal(digest(Buffer.from(await echo.body.arrayBuffer())), digest(big));
  const stream = Readable.from((function* () { for (let at = 0; at < big.length; at += 60_001) yield big.subarray(at, at + 60_001); })());
  const streamed = await request(new URL('echo', origin), { dispatcher, method: 'PUT', body: stream });
  assert.equal(digest(Buffer.from(await streamed.body.arrayBuffer())), digest(big));
  const many = await Promise.all(Array.from({ length: 20 }, () => request(new URL('files/big.bin', origin), { dispatcher })));
  for (const { body } of many) assert.equal((await body.arrayBuffer()).byteLength, 4 * 1024 * 1024);
  await dispatcher.close();
}

// As it does by default: plain requests inside a CONNECT.
const tunnelling = () => undici(true);

async function axios() {
  const { default: api } = await import('axios');
  const { hostname, port } = new URL(proxy);
  const through = api.create({ baseURL: origin, proxy: { protocol: 'http', host: hostname, port: Number(port) } });
  assert.equal((await through.get('/files/hello.txt')).data, 'hello\n');
  assert.deepEqual((await through.post('/echo', { a: 1 }, { responseType: 'json' })).data, { a: 1 });
  const echo = await through.post('/echo', big, { responseType: 'arraybuffer', maxRedirects: 0 });
  assert.equal(digest(Buffer.from(echo.data)), digest(big));
  // By the variables that the environment gives it.
  assert.equal((await api.get(new URL('/files/hello.txt', origin).href)).data, 'hello\n');
  const missing = await through.get('/nothing', { validateStatus: () => true });
  assert.equal(missing.status, 404);
}

await { undici, tunnelling, axios }[client]();
console.log('all well');
