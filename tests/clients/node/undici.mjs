// SPDX-License-Identifier: Apache-2.0
// undici's fetch and its EnvHttpProxyAgent with default settings, which asks for tunnels also for http.
import { printAll } from './at_once.mjs';
import { EnvHttpProxyAgent, fetch, setGlobalDispatcher } from 'undici';

setGlobalDispatcher(new EnvHttpProxyAgent());

await printAll(async (url) => {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${response.status} ${response.statusText}`);
  return response.text();
});
