// SPDX-License-Identifier: Apache-2.0
// The origin of the differential test: Node's own HTTP server, strict, and beside it the strict reader on the very same
// bytes. Each request is answered with a number of its own and with its own body; where the two do not see the same
// requests on a connection, that is noted.
import http from 'node:http';
import { requestsIn } from './strict.mjs';

const pairs = (raw) => Array.from({ length: raw.length / 2 }, (_, n) => [raw[2 * n], raw[2 * n + 1]]);
const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

class Connection {
  constructor(origin, socket) {
    this.origin = origin;
    this.text = '';
    this.read = [];      // by the strict reader, whole, not yet compared
    this.ended = [];     // by Node, whole, not yet compared
    this.begun = 0;      // by Node, the head
    this.compared = 0;
    this.refused = false;  // by Node, for its method
    socket.on('data', (bytes) => this.take(bytes.toString('latin1')));
    socket.on('close', () => this.close());
    socket.on('error', () => {});
  }
  take(text) {
    this.text += text;
    const { requests, at, state, why } = requestsIn(this.text);
    this.last = this.text.slice(0, 2000);
    this.text = this.text.slice(at);
    this.read.push(...requests);
    if (state === 'wrong') this.complain(`the strict reader: ${why}`);
    this.compare();
  }
  end(seen) {
    this.ended.push(seen);
    this.compare();
  }
  compare() {
    while (this.read.length && this.ended.length) {
      const strict = this.read.shift();
      const node = this.ended.shift();
      ++this.compared;
      const { method, target, fields, body, trailers } = strict;
      if (!same([method, target, fields, body, trailers], [node.method, node.url, node.fields, node.body, node.trailers])) {
        this.complain(`not the same: ${JSON.stringify(strict)} and ${JSON.stringify(node)}`);
      }
    }
  }
  close() {
    // A method that Node does not know ends the connection there, and is whole for the strict reader.
    if (this.read.length > (this.refused ? 1 : 0) || this.ended.length) {
      this.complain(`whole for the one and not for the other: ${JSON.stringify([this.read, this.ended])}`);
    }
  }
  complain(what) {
    this.origin.complaints.push(`${what}\n    ${JSON.stringify(this.last)}`);
  }
}

export class Origin {
  constructor() {
    this.complaints = [];
    this.seen = [];       // by number: { method, url, body, whole, left }
    this.connections = new Map();
    this.unknown = 0;     // methods that Node refuses
    this.server = http.createServer({ insecureHTTPParser: false, maxHeaderSize: 1 << 20, keepAlive: true, requestTimeout: 0,
      headersTimeout: 0, keepAliveTimeout: 0 }, (request, response) => this.answer(request, response));
    this.server.on('connection', (socket) => this.connections.set(socket, new Connection(this, socket)));
    this.server.on('clientError', (error, socket) => this.broken(error, socket));
    this.server.maxRequestsPerSocket = 0;
  }
  listen() {
    return new Promise((resolve) => this.server.listen(0, '127.0.0.1', 4096, () => resolve(this.server.address().port)));
  }
  close() {
    this.server.closeAllConnections();
    this.server.close();
  }
  answer(request, response) {
    const number = this.seen.length;
    const seen = { number, method: request.method, url: request.url, body: '', whole: false };
    this.seen.push(seen);
    const connection = this.connections.get(request.socket);
    const parts = [];
    request.on('data', (bytes) => parts.push(bytes));
    request.on('error', () => {});
    request.on('end', () => {
      const body = Buffer.concat(parts);
      seen.body = body.toString('latin1');
      seen.whole = true;
      connection.end({ ...seen, fields: pairs(request.rawHeaders), trailers: pairs(request.rawTrailers) });
      response.writeHead(200, { 'X-Seen': number, 'Content-Length': body.length });
      response.end(body);
    });
  }
  broken(error, socket) {
    const connection = this.connections.get(socket);
    if (error.code === 'HPE_INVALID_METHOD') {
      connection.refused = true;
      ++this.unknown;
      socket.end('HTTP/1.1 501 Not Implemented\r\nX-Seen: none\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
    } else {
      if (error.code?.startsWith('HPE_') && error.code !== 'HPE_INVALID_EOF_STATE') connection.complain(`Node: ${error.code} ${error.message}`);
      socket.destroy();
    }
  }
}
