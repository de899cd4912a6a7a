// SPDX-License-Identifier: Apache-2.0
// A reader of HTTP/1 requests as RFC 9112 has them and nothing else: what is not exactly so is wrong. Slow and plain on
// purpose, and without a line in common with any other parser. Bytes are latin1 strings throughout.

const LINE_END = '\r\n';
const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
const REQUEST_LINE = new RegExp(`^(${TOKEN}) ([\\x21-\\x7e]+) HTTP/1\\.([0-9])$`);
const FIELD = new RegExp(`^(${TOKEN}):[ \\t]*((?:[\\x21-\\x7e\\x80-\\xff](?:[ \\t\\x21-\\x7e\\x80-\\xff]*[\\x21-\\x7e\\x80-\\xff])?)?)[ \\t]*$`);
const LARGEST = 2n ** 63n - 1n;

class Wrong extends Error {}
class Incomplete extends Error {}

class Bytes {
  constructor(text, at) {
    this.text = text;
    this.at = at;
  }
  line() {
    const end = this.text.indexOf(LINE_END, this.at);
    if (end < 0) {
      // A line feed by itself ends nothing, and no CRLF behind it will make it right.
      if (this.text.indexOf('\n', this.at) >= 0) throw new Wrong('a bare LF');
      throw new Incomplete();
    }
    const line = this.text.slice(this.at, end);
    if (line.includes('\n') || line.includes('\r')) throw new Wrong('a bare CR or LF');
    this.at = end + 2;
    return line;
  }
  exactly(size) {
    if (this.text.length - this.at < size) throw new Incomplete();
    this.at += size;
    return this.text.slice(this.at - size, this.at);
  }
}

function fieldsOf(bytes) {
  const fields = [];
  for (let line; (line = bytes.line()) !== '';) {
    const found = FIELD.exec(line);
    if (!found) throw new Wrong(`the line ${JSON.stringify(line)}`);
    fields.push([found[1], found[2]]);
  }
  return fields;
}

function only(fields, name) {
  const values = fields.filter(([key]) => key.toLowerCase() === name).map(([, value]) => value);
  if (values.length > 1) throw new Wrong(`${name} twice`);
  return values[0];
}

function framing(fields, minor) {
  const length = only(fields, 'content-length');
  const coding = only(fields, 'transfer-encoding');
  if (length !== undefined && coding !== undefined) throw new Wrong('two framings');
  if (coding !== undefined) {
    if (coding.toLowerCase() !== 'chunked' || minor === '0') throw new Wrong(`the coding ${coding}`);
    return 'chunked';
  }
  if (length === undefined) return 0n;
  if (!/^[0-9]+$/.test(length) || BigInt(length) > LARGEST) throw new Wrong(`the length ${length}`);
  return BigInt(length);
}

// Extensions only where a client may send them: Penstock's own chunks have none.
function chunks(bytes, request, extensions) {
  const size = extensions ? /^([0-9A-Fa-f]{1,16})(?:[\t ]*;[\t\x20-\x7e\x80-\xff]*)?$/ : /^([0-9A-Fa-f]{1,16})$/;
  for (;;) {
    const line = bytes.line();
    const found = size.exec(line);
    if (!found) throw new Wrong(`the chunk line ${JSON.stringify(line)}`);
    const count = BigInt(`0x${found[1]}`);
    if (count === 0n) break;
    request.body += bytes.exactly(Number(count));
    if (bytes.exactly(2) !== LINE_END) throw new Wrong('a chunk without an end');
  }
  request.trailers = fieldsOf(bytes);
}

function read(bytes, isFront) {
  let line = bytes.line();
  while (isFront && line === '') line = bytes.line();
  const found = REQUEST_LINE.exec(line);
  if (!found) throw new Wrong(`the line ${JSON.stringify(line)}`);
  const request = { method: found[1], target: found[2], minor: found[3] === '0' ? '0' : '1', fields: fieldsOf(bytes), body: '', trailers: [] };
  if (request.minor === '1') {
    if (only(request.fields, 'host') === undefined) throw new Wrong('no Host');
  }
  const kind = framing(request.fields, request.minor);
  if (kind === 'chunked') chunks(bytes, request, isFront);
  else request.body = bytes.exactly(Number(kind));
  return request;
}

/// The whole requests from `at` on, where the next one begins, and what stopped the reading: 'end' of the text,
/// 'incomplete', or 'wrong' with the reason.
export function requestsIn(text, { at = 0, isFront = false } = {}) {
  const requests = [];
  for (;;) {
    if (at === text.length) return { requests, at, state: 'end' };
    const bytes = new Bytes(text, at);
    try {
      requests.push(read(bytes, isFront));
      at = bytes.at;
    } catch (error) {
      if (error instanceof Incomplete) return { requests, at, state: 'incomplete' };
      if (error instanceof Wrong) return { requests, at, state: 'wrong', why: error.message };
      throw error;
    }
  }
}
