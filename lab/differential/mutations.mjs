// SPDX-License-Identifier: Apache-2.0
// Good requests in every form, and what can be done to them: bytes, lines, blanks, line ends, lengths. All drawn from a
// seed. Bytes are latin1 strings.

export class Drawn {
  constructor(seed) {
    this.state = seed >>> 0;
  }
  /// mulberry32
  next() {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let t = this.state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return (t ^ (t >>> 14)) >>> 0;
  }
  below(bound) {
    return this.next() % bound;
  }
  of(list) {
    return list[this.below(list.length)];
  }
}

export function seedsFor(host) {
  const url = `http://${host}`;
  const head = (line, ...fields) => [line, ...fields, '', ''].join('\r\n');
  const get = (path, ...fields) => head(`GET ${url}${path} HTTP/1.1`, `Host: ${host}`, ...fields);
  const post = (path, body, ...fields) => head(`POST ${url}${path} HTTP/1.1`, `Host: ${host}`, ...fields) + body;
  const length = (path, body, ...fields) => post(path, body, `Content-Length: ${body.length}`, ...fields);
  const chunked = (path, body, ...fields) => post(path, body, 'Transfer-Encoding: chunked', ...fields);
  const inside = get('/inside');
  const hex = (text) => text.length.toString(16);
  return [
    get('/1'),
    get('/2?a=b&c=%41', 'Accept: */*', 'X-Empty:'),
    get('/3', 'Connection: keep-alive, X-Hop', 'X-Hop: 1', 'Keep-Alive: timeout=5'),
    get('/4', 'X-Bytes: \x80\xff\xa0', 'X-Blanks:  \t a \t b \t '),
    get('/5', 'Content-Length: 0'),
    get('/6', 'Upgrade: websocket', 'Connection: Upgrade'),
    get('/7', 'Upgrade: h2c', 'Connection: Upgrade, HTTP2-Settings', 'HTTP2-Settings: AAMAAABkAAQAAP__'),
    get('/8', 'Content-Length: 4') + 'body',
    get('/9', 'Transfer-Encoding: chunked') + '3\r\nabc\r\n0\r\n\r\n',
    '\r\n\r\n' + get('/10'),
    head(`GET ${url} HTTP/1.1`, `Host: ${host}`),
    head(`GET ${url}?query HTTP/1.1`, `Host: ${host}`),
    head(`OPTIONS ${url} HTTP/1.1`, `Host: ${host}`, 'Max-Forwards: 5'),
    head(`HEAD ${url}/14 HTTP/1.1`, `Host: ${host}`),
    head(`HEAD ${url}/15 HTTP/1.1`, `Host: ${host}`, 'Content-Length: 3') + 'abc',
    head(`DELETE ${url}/16 HTTP/1.1`, `Host: ${host}`, 'Content-Length: 5') + 'which',
    head(`GET ${url}/17 HTTP/1.0`),
    head(`GET ${url}/18 HTTP/1.0`, 'Connection: keep-alive') + get('/18b'),
    head(`POST ${url}/19 HTTP/1.0`, 'Proxy-Connection: keep-alive', 'Content-Length: 6') + '123456',
    head(`GET ${url.replace('http', 'HTTP')}/20 HTTP/1.1`, `host: ${host}`),
    length('/21', 'hello'),
    length('/22', ''),
    length('/23', inside),
    length('/24', `0\r\n\r\n${inside}`),
    length('/25', 'x'.repeat(3000), 'Content-Type: text/plain'),
    length('/26', 'later', 'Expect: 100-continue'),
    chunked('/27', '5\r\nhello\r\n0\r\n\r\n'),
    chunked('/28', '1\r\na\r\n02\r\nbc\r\n0000A\r\n0123456789\r\n000\r\n\r\n'),
    chunked('/29', '5;name=value;other="quoted; text"\r\nhello\r\n0 ; last = "\\"" ;x\r\n\r\n'),
    chunked('/30', '3\r\nabc\r\n0\r\nX-Sum: 6\r\nX-More: a b\r\n\r\n', 'Trailer: X-Sum'),
    chunked('/31', '3\r\nabc\r\n0\r\nContent-Length: 4\r\nHost: other.test\r\n\r\n'),
    chunked('/32', `${hex(inside)}\r\n${inside}\r\n0\r\n\r\n`),
    chunked('/33', `7d0\r\n${'y'.repeat(2000)}\r\n0\r\n\r\n`, 'Expect: 100-continue'),
    chunked('/34', '0\r\n\r\n'),
    get('/35') + get('/36') + get('/37'),
    length('/38', 'first') + get('/39') + chunked('/40', '2\r\nok\r\n0\r\n\r\n') + get('/41'),
    chunked('/42', '2\r\nok\r\n0\r\n\r\n') + length('/43', 'second') + get('/44'),
    get('/45', 'Connection: close') + inside,
    head(`PATCH ${url}/46 HTTP/1.1`, `Host: ${host}`, 'Content-Length: 0002') + 'ok',
    head(`M-SEARCH ${url}/47 HTTP/1.1`, `Host: ${host}`),
    get('/48', ...Array.from({ length: 40 }, (_, n) => `X-${n}: ${'z'.repeat(n)}`)),
  ];
}

const NASTY = ['\0', '\r', '\n', '\t', ' ', '\x0b', '\x0c', '\x7f', '\x80', '\x85', '\xa0', '\xff', ':', ';', ',', '"', '\\', '/', '@', '#',
  '0', '1', '9', 'a', 'f', 'x', '+', '-', '_', '.', '\r\n', '\n\n', '\r\r\n', '\r\n\r\n', '\n\r'];
const FRAMINGS = ['Content-Length: 0', 'Content-Length: 1', 'Content-Length: 5', 'Content-Length: 5, 5', 'Content-Length: +5', 'Content-Length: 0x5',
  'Content-Length: 5_0', 'Content-Length: 18446744073709551616', 'Content-Length: 9223372036854775807', 'Content-Length : 5', 'Content-Length:\t5',
  'Content-Length:', 'Content-Length: 5\x0b', 'Transfer-Encoding: chunked', 'Transfer-Encoding: Chunked', 'Transfer-Encoding: chunked, chunked',
  'Transfer-Encoding: gzip, chunked', 'Transfer-Encoding: chunked, identity', 'Transfer-Encoding: identity', 'Transfer-Encoding: ,chunked',
  'Transfer-Encoding:\tchunked ', 'Transfer-Encoding : chunked', 'Transfer-Encoding: "chunked"', 'Transfer-Encoding: chunked;q=1', 'Transfer-Encoding: xchunked',
  'Transfer-Encoding:\x0bchunked', 'Transfer-Encoding: chunked\xa0', 'Transfer_Encoding: chunked', 'X: y\r\n Transfer-Encoding: chunked',
  'Connection: close', 'Connection: Content-Length', 'Connection: Transfer-Encoding', 'Expect: 100-continue', 'Host: other.test', 'Host:'];

const replaced = (text, at, gone, by) => text.slice(0, at) + by + text.slice(at + gone);

const OPERATIONS = [
  function byte(text, drawn) {
    return replaced(text, drawn.below(text.length), 1, drawn.below(2) ? drawn.of(NASTY) : String.fromCharCode(drawn.below(256)));
  },
  function flip(text, drawn) {
    const at = drawn.below(text.length);
    return replaced(text, at, 1, String.fromCharCode(text.charCodeAt(at) ^ (1 << drawn.below(8))));
  },
  function insert(text, drawn) {
    return replaced(text, drawn.below(text.length + 1), 0, drawn.of(NASTY));
  },
  function remove(text, drawn) {
    return replaced(text, drawn.below(text.length), 1 + drawn.below(4), '');
  },
  function copyStretch(text, drawn) {
    const from = drawn.below(text.length);
    return replaced(text, drawn.below(text.length), 0, text.slice(from, from + 1 + drawn.below(40)));
  },
  function line(text, drawn) {
    const lines = text.split('\r\n');
    const at = drawn.below(lines.length);
    const how = drawn.below(4);
    if (how === 0) lines.splice(at, 1);
    else if (how === 1) lines.splice(at, 0, lines[at]);
    else if (how === 2) lines.splice(drawn.below(lines.length), 0, ...lines.splice(at, 1));
    else lines.splice(at, 0, drawn.of(FRAMINGS));
    return lines.join('\r\n');
  },
  function framing(text, drawn) {
    const end = text.indexOf('\r\n', text.indexOf('HTTP/1.'));
    return end < 0 ? text : replaced(text, end, 0, `\r\n${drawn.of(FRAMINGS)}`);
  },
  function lineEnd(text, drawn) {
    const ends = [...text.matchAll(/\r\n/g)].map((found) => found.index);
    if (!ends.length) return text;
    return replaced(text, drawn.of(ends), 2, drawn.of(['\n', '\r', '\r\r\n', '\n\r', '\r\n ', '\r\n\t', ' \r\n', '\0\r\n', '\r\n\r\n', '']));
  },
  function everyLineEnd(text, drawn) {
    return text.replaceAll('\r\n', drawn.of(['\n', '\r', '\r\n', '\n\r']));
  },
  function blank(text, drawn) {
    const places = [...text.matchAll(/[: ]/g)].map((found) => found.index);
    return places.length ? replaced(text, drawn.of(places) + drawn.below(2), 0, drawn.of([' ', '\t', '\x0b', '\x0c', '\0', '\xa0', '\r'])) : text;
  },
  function number(text, drawn) {
    const found = [...text.matchAll(/\b[0-9a-f]+\b/gi)];
    if (!found.length) return text;
    const one = drawn.of(found);
    const value = parseInt(one[0], /^[0-9]+$/.test(one[0]) ? 10 : 16);
    const other = drawn.of([`${value + 1}`, `${Math.max(0, value - 1)}`, `+${one[0]}`, `-${one[0]}`, `0${one[0]}`, `0x${one[0]}`, ` ${one[0]}`, `${one[0]} `,
      `${one[0]}_0`, `${one[0]}.0`, '', '0', 'ffffffffffffffff', '10000000000000000', '18446744073709551615', `${one[0]},${one[0]}`]);
    return replaced(text, one.index, one[0].length, other);
  },
  function cut(text, drawn) {
    return text.slice(0, 1 + drawn.below(text.length));
  },
];

/// One variant of one seed, or of two in a row.
export function variant(seeds, drawn) {
  let text = drawn.of(seeds);
  if (drawn.below(4) === 0) text += drawn.of(seeds);
  for (let edits = drawn.below(4); edits > 0 && text; --edits) text = drawn.of(OPERATIONS)(text, drawn);
  return text;
}
