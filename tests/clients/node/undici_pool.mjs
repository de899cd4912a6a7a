// SPDX-License-Identifier: Apache-2.0
// undici with no more connections to an origin than its limits let through at once.
import { printAll } from './at_once.mjs';
import { EnvHttpProxyAgent, fetch, setGlobalDispatcher } from 'undici';

setGlobalDispatcher(new EnvHttpProxyAgent({ connections: 2 }));

await printAll(async (url) => (await fetch(url)).text());
