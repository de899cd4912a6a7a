#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// Mutated requests through Penstock to Node's parser: does anybody see a request end elsewhere than the others?
//   run.mjs PROGRAM COUNT [SEED]      called by script/differential and by CTest
import { Drawn, seedsFor, variant } from './mutations.mjs';
import { Origin } from './origin.mjs';
import { Penstock } from './penstock.mjs';
import { visit } from './client.mjs';
import { Book } from './book.mjs';

const AT_ONCE = 48;
const [program, count, seed = `${Date.now() % 1_000_000}`] = process.argv.slice(2);

async function all(total, one) {
  let next = 0;
  await Promise.all(Array.from({ length: AT_ONCE }, async () => {
    while (next < total) await one(next++);
  }));
}

/// The last request asks for the end of the connection, so that it ends unless something has swallowed that.
function bytesOf(seeds, drawn, host) {
  const text = variant(seeds, drawn) + `GET http://${host}/last HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
  const cuts = Array.from({ length: drawn.below(4) }, () => drawn.below(text.length)).sort((a, b) => a - b);
  return { text, cuts };
}

console.log(`differential: ${count} variants, seed ${seed}`);
const origin = new Origin();
const host = `origin.test:${await origin.listen()}`;
const penstock = await Penstock.start(program, host);
const seeds = seedsFor(host);
const book = new Book(origin, host);
try {
  await all(Number(count), async (number) => {
    const { text, cuts } = bytesOf(seeds, new Drawn(Number(seed) * 1_000_003 + number), host);
    book.add(await visit(penstock.port, text, cuts));
  });
} finally {
  await penstock.end();
  origin.close();
}
book.close(penstock);
for (const wrong of book.wrongs.slice(0, 10)) console.log(`DISAGREEMENT: ${wrong}`);
console.log(`differential: ${book.summary()}; ${book.wrongs.length} disagreements`);
process.exit(book.wrongs.length ? 1 : 0);
