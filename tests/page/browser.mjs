// SPDX-License-Identifier: Apache-2.0
// A browser that does what lines of JSON on stdin say, and answers each with one on stdout. `browser.py` speaks to it.
import { createInterface } from 'node:readline';
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { chromium } from 'playwright-core';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const PATIENCE = 120_000; // ms; a cold Chromium on a busy machine takes long to start and to load
const browser = await chromium.launch({ executablePath: process.argv[2], timeout: PATIENCE, args: ['--no-sandbox', '--font-render-hinting=none'] });
const pages = new Map();

async function open({ page, url, width = 1280, height = 800, dark = false }) {
  const context = await browser.newContext({
    viewport: { width, height }, colorScheme: dark ? 'dark' : 'light', reducedMotion: 'reduce', deviceScaleFactor: 1.5,
    bypassCSP: false,
  });
  context.setDefaultTimeout(PATIENCE);
  const tab = await context.newPage();
  const seen = { requests: [], errors: [], tab };
  context.on('request', request => seen.requests.push(request.url()));
  tab.on('console', message => { if (message.type() === 'error' || message.type() === 'warning') seen.errors.push(message.text()); });
  tab.on('pageerror', error => seen.errors.push(String(error)));
  pages.set(page, seen);
  await tab.goto(url, { waitUntil: 'domcontentloaded' });
}

const actions = {
  open,
  evaluate: ({ page, script }) => pages.get(page).tab.evaluate(script),
  press: ({ page, key }) => pages.get(page).tab.keyboard.press(key),
  type: ({ page, text }) => pages.get(page).tab.keyboard.type(text),
  click: ({ page, selector }) => pages.get(page).tab.click(selector),
  picture: async ({ page, path }) => void (await pages.get(page).tab.screenshot({ path, fullPage: true })),
  seen: ({ page }) => ({ requests: pages.get(page).requests, errors: pages.get(page).errors }),
  // By the driver, which the page's policy does not bind.
  judge: async ({ page }) => {
    const { tab } = pages.get(page);
    const session = await tab.context().newCDPSession(tab);
    const run = expression => session.send('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true });
    await run(axe);
    const { result } = await run('axe.run(document, {resultTypes: ["violations"]}).then(found => found.violations)');
    return result.value.map(({ id, impact, help, nodes }) => ({ id, impact, help, nodes: nodes.map(node => node.html).slice(0, 5) }));
  },
  close: async ({ page }) => {
    await pages.get(page).tab.context().close();
    pages.delete(page);
  },
};

console.log(JSON.stringify({ ready: true }));
for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  try {
    console.log(JSON.stringify({ result: (await actions[command.do](command)) ?? null }));
  } catch (error) {
    console.log(JSON.stringify({ error: String(error) }));
  }
}
await browser.close();
