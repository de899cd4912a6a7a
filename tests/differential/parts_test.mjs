// SPDX-License-Identifier: Apache-2.0
// Whether the differential test would notice: the strict reader reads as RFC 9112 has it, and the book sees each way in
// which the readers, the clients and the log can disagree.
import assert from 'node:assert/strict';
import net from 'node:net';
import test from 'node:test';
import { Book, forwarded } from './book.mjs';
import { Drawn, seedsFor, variant } from './mutations.mjs';
import { Origin } from './origin.mjs';
import { requestsIn } from './strict.mjs';

const host = 'origin.test:80';
const get = `GET http://${host}/ HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
const post = (fields, rest) => `POST http://${host}/ HTTP/1.1\r\nHost: ${host}\r\n${fields}\r\n\r\n${rest}`;

test('the strict reader reads every seed whole', () => {
  for (const seed of seedsFor(host)) {
    const { requests, state } = requestsIn(seed, { isFront: true });
    assert.equal(state, 'end', seed);
    assert.ok(requests.length > 0);
  }
});

test('it knows where a request ends', () => {
  const { requests } = requestsIn(post('Content-Length: 3', 'abc') + post('Transfer-Encoding: chunked', '2\r\nde\r\n0\r\nA: b\r\n\r\n') + get);
  assert.deepEqual(requests.map(({ body, trailers }) => [body, trailers]), [['abc', []], ['de', [['A', 'b']]], ['', []]]);
  assert.equal(requestsIn(get.slice(0, -1)).state, 'incomplete');
  assert.equal(requestsIn(post('Content-Length: 4', 'abc')).state, 'incomplete');
});

test('what is not exactly so is wrong', () => {
  for (const text of [
    post('Content-Length: 3\r\nTransfer-Encoding: chunked', 'abc'), post('Content-Length: 3\r\nContent-Length: 3', 'abc'), post('Content-Length: +3', 'abc'),
    post('Content-Length : 3', 'abc'), post('Transfer-Encoding: gzip, chunked', '0\r\n\r\n'), post('Transfer-Encoding: chunked', '3 \r\nabc\r\n0\r\n\r\n'),
    post('Transfer-Encoding: chunked', '2\r\nabc\r\n0\r\n\r\n'), post('X: a\r\n b', ''), post('X: a\nb', ''), post('X: a\0b', ''), get.replace('GET ', 'GET  '),
    get.replaceAll('\r\n', '\n'), get.replace('1.1', '1.2'), get.replace('Host', 'Hos t'), get.replace('Host', 'X'), '\r\n' + get,
    post('Transfer-Encoding: chunked', '3;x=y\r\nabc\r\n0\r\n\r\n'),
  ]) assert.equal(requestsIn(text).state, 'wrong', text);
});

test('a target becomes what an origin is to see', () => {
  const of = (method, target) => forwarded({ method, target }, host);
  assert.equal(of('GET', `http://${host}/a?b`), '/a?b');
  assert.equal(of('GET', `http://${host}?b`), '/?b');
  assert.equal(of('OPTIONS', `http://${host}`), '*');
  assert.equal(of('GET', 'http://other.test/'), null);
});

test('variants are the same from the same seed', () => {
  const some = (seed) => Array.from({ length: 50 }, (_, n) => variant(seedsFor(host), new Drawn(seed + n)));
  assert.deepEqual(some(1), some(1));
  assert.notDeepEqual(some(1), some(1000));
});

// A book of one request that Node has seen, was answered, and is in the log.
function bookOf({ answers = [{ status: 200, seen: '0', body: 'abc' }], text = post('Content-Length: 3', 'abc'), events = ['dispatch', 'complete'],
  complaints = [], code = 0, how = 'closed' } = {}) {
  const seen = [{ number: 0, method: 'POST', url: '/', body: 'abc', whole: true }];
  const book = new Book({ seen, complaints, unknown: 0, connections: new Map() }, host);
  book.add({ text, strict: requestsIn(text, { isFront: true }), answers, rest: '', wrong: null, how });
  book.close({ code, said: '', events: events.map((event) => ({ event, upstream: 'origin', method: 'POST', path: '/' })) });
  return book.wrongs.length;
}

test('the book agrees where all agree, and only there', () => {
  assert.equal(bookOf(), 0);
  assert.ok(bookOf({ text: post('Content-Length: 2', 'abc') }), 'another body');
  assert.ok(bookOf({ text: post('Content-Length : 3', 'abc') }), 'forwarded what is wrong');
  assert.ok(bookOf({ answers: [{ status: 200, seen: '0', body: 'xyz' }] }), 'the answer of another');
  assert.ok(bookOf({ answers: [0, 0].map(() => ({ status: 200, seen: '0', body: 'abc' })), text: post('Content-Length: 3', 'abc').repeat(2) }), 'answered twice');
  assert.ok(bookOf({ events: [] }), 'not in the log');
  assert.ok(bookOf({ events: ['dispatch', 'error'] }), 'not complete in the log');
  assert.ok(bookOf({ events: ['dispatch', 'complete', 'dispatch', 'complete'] }), 'complete, and not with Node');
  assert.ok(bookOf({ complaints: ['x'] }), 'two readers');
  assert.ok(bookOf({ code: 1 }), 'a bad end');
  assert.ok(bookOf({ how: 'patience' }), 'no end');
});

test('the origin notices where Node and the strict reader part', async () => {
  const origin = new Origin();
  const port = await origin.listen();
  const send = (text) => new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1', () => socket.write(text));
    socket.on('data', () => socket.destroy()).on('error', () => {}).on('close', resolve);
  });
  await send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  assert.deepEqual(origin.complaints, []);
  await send('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1;x\r\na\r\n0\r\n\r\n');  // Node takes an extension
  assert.notDeepEqual(origin.complaints, []);
  origin.close();
});
