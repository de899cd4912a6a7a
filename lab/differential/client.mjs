// SPDX-License-Identifier: Apache-2.0
// One client of the differential test: sends its bytes in pieces, reads the answers, and stays for as long as the strict
// reader says that something is to come.
import net from 'node:net';
import { requestsIn } from './strict.mjs';

const PATIENCE = 60_000; // ms; who meets it has found a disagreement
const HEAD_END = '\r\n\r\n';

class Answers {
  constructor(methods) {
    this.text = '';
    this.methods = methods;
    this.list = [];
    this.wrong = null;
    this.isOver = false;
  }
  end() {
    this.isOver = true;
    this.take('');
  }
  take(text) {
    this.text += text;
    while (!this.wrong && this.next());
  }
  next() {
    const end = this.text.indexOf(HEAD_END);
    if (end < 0) return false;
    const [line, ...lines] = this.text.slice(0, end).split('\r\n');
    const status = Number(/^HTTP\/1\.1 ([1-5][0-9][0-9]) [^\r\n]*$/.exec(line)?.[1]);
    const fields = lines.map((each) => /^([^:\s]+): ?(.*)$/.exec(each)?.slice(1));
    if (!status || fields.includes(undefined)) return this.fail(`an answer ${JSON.stringify(this.text.slice(0, 300))}`);
    if (status < 200) return this.skip(end + 4);
    const value = (name) => fields.find(([key]) => key.toLowerCase() === name)?.[1];
    // Where the strict reader has no request, Penstock may yet have made out a HEAD: then no body follows the last answer.
    const method = this.methods[this.list.length] ?? (this.text.length === end + 4 && this.isOver ? 'HEAD' : 'unknown');
    const length = method === 'HEAD' ? 0 : Number(value('content-length'));
    if (Number.isNaN(length)) return this.fail(`an answer without a length ${JSON.stringify(this.text.slice(0, end))}`);
    if (this.text.length < end + 4 + length) return false;
    const seen = value('x-seen');
    this.list.push({ status, seen: seen === undefined ? null : seen, own: value('proxy-status') ?? '', body: this.text.slice(end + 4, end + 4 + length) });
    return this.skip(end + 4 + length);
  }
  skip(count) {
    this.text = this.text.slice(count);
    return true;
  }
  fail(what) {
    this.wrong = what;
    return false;
  }
}

const asksForEnd = (request) => request.fields.some(([name, value]) => name.toLowerCase() === 'connection' && /\bclose\b/i.test(value));

/// Resolves with what the strict reader made of `text`, the answers, and how the connection ended: 'closed' by the proxy,
/// 'left' by the client, 'patience'.
export function visit(port, text, cuts) {
  const strict = requestsIn(text, { isFront: true });
  const ends = strict.state === 'wrong' || (strict.state === 'end' && asksForEnd(strict.requests.at(-1)));
  const answers = new Answers(strict.requests.map((request) => request.method));
  return new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1');
    let how = 'closed';
    const leave = (why) => {
      how = why;
      socket.destroy();
    };
    const timer = setTimeout(leave, PATIENCE, 'patience');
    const watch = () => {
      // Whoever waits for more, or may wait for another request, ends nothing.
      if (!ends && answers.list.length >= strict.requests.length) setTimeout(leave, 5, 'left');
    };
    socket.setNoDelay(true);
    socket.on('connect', () => {
      let from = 0;
      const send = () => {
        if (socket.destroyed) return;
        const to = cuts.length ? cuts.shift() : text.length;
        socket.write(text.slice(from, to), 'latin1');
        from = to;
        if (from < text.length) setImmediate(send);
        else watch();
      };
      send();
    });
    socket.on('data', (bytes) => {
      answers.take(bytes.toString('latin1'));
      watch();
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      clearTimeout(timer);
      answers.end();
      resolve({ text, strict, answers: answers.list, rest: answers.text, wrong: answers.wrong, how });
    });
  });
}
