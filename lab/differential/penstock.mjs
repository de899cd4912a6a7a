// SPDX-License-Identifier: Apache-2.0
// The program under test for the differential test, with a name server that knows one name.
import { spawn } from 'node:child_process';
import dgram from 'node:dgram';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

/// Every name is at 127.0.0.1.
function nameServer() {
  const socket = dgram.createSocket('udp4');
  socket.on('message', (asked, whom) => {
    const end = asked.indexOf(0, 12) + 5;
    const isA = asked.readUInt16BE(end - 4) === 1;
    const head = Buffer.from([asked[0], asked[1], 0x81, 0x80, 0, 1, 0, isA ? 1 : 0, 0, 0, 0, 0]);
    const answer = Buffer.from(isA ? [0xc0, 0x0c, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 127, 0, 0, 1] : []);
    socket.send(Buffer.concat([head, asked.subarray(12, end), answer]), whom.port, whom.address);
  });
  return new Promise((resolve) => socket.bind(0, '127.0.0.1', () => resolve(socket)));
}

export class Penstock {
  static async start(program, host) {
    const self = new Penstock();
    self.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'penstock-differential-'));
    self.names = await nameServer();
    const config = path.join(self.folder, 'penstock.yaml');
    fs.writeFileSync(config, [
      'version: 1', 'proxy: { listen: 127.0.0.1:0, grace: 10s }', 'admin: { listen: 127.0.0.1:0 }',
      `log: { events: "${self.folder}/events" }`, `dns: { servers: ["127.0.0.1:${self.names.address().port}"] }`,
      'unmatched: deny', `upstreams: { origin: { match: "${host}", maxConcurrent: 32 } }`, ''].join('\n'));
    const variables = { ASAN_OPTIONS: 'quarantine_size_mb=8:verify_asan_link_order=0', UBSAN_OPTIONS: 'print_stacktrace=1' };
    self.child = spawn(program, ['run', '--config', config], { stdio: ['ignore', 'ignore', 'pipe'], env: variables });
    self.said = '';
    self.ended = new Promise((resolve) => self.child.on('close', (code) => resolve(code)));
    await new Promise((resolve, reject) => {
      self.child.stderr.setEncoding('utf8').on('data', (text) => {
        self.said += text;
        self.port = Number(/listening on http:\/\/[^ ]*?:([0-9]+)/.exec(self.said)?.[1]);
        if (self.port) resolve();
      });
      self.ended.then(() => reject(new Error(`the program does not start:\n${self.said}`)));
    });
    return self;
  }
  async end() {
    this.child.kill('SIGTERM');
    this.code = await this.ended;
    this.names.close();
    this.events = fs.readFileSync(path.join(this.folder, 'events'), 'utf8').trimEnd().split('\n').map((line) => JSON.parse(line));
    fs.rmSync(this.folder, { recursive: true });
  }
}
