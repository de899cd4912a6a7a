// SPDX-License-Identifier: Apache-2.0
// Node's own fetch, which obeys the environment with NODE_USE_ENV_PROXY=1.
import { printAll } from './at_once.mjs';

await printAll(async (url) => {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${response.status} ${response.statusText}`);
  return response.text();
});
