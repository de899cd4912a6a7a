// SPDX-License-Identifier: Apache-2.0
// websocket.mjs URL COUNT: so many WebSockets at once by undici; each says its URL and prints what it is answered.
import { printAll } from './at_once.mjs';
import { EnvHttpProxyAgent, WebSocket } from 'undici';

const dispatcher = new EnvHttpProxyAgent();

await printAll((url) => new Promise((resolve, reject) => {
  const socket = new WebSocket(url, { dispatcher });
  let answer = '';
  socket.onopen = () => socket.send(`hello ${url.slice(url.lastIndexOf('/') + 1)}\n`);
  socket.onmessage = (message) => { answer += message.data; socket.close(); };
  socket.onclose = () => resolve(answer);
  socket.onerror = (event) => reject(event.error ?? new Error('no WebSocket'));
}));
