// SPDX-License-Identifier: Apache-2.0
// What the programs here have in common: PROGRAM URL COUNT asks for URL1, URL2 and so on, all at once, and prints what
// comes.
export async function printAll(ask) {
  const [base, count] = process.argv.slice(2);
  const urls = Array.from({ length: Number(count) }, (_, index) => `${base}${index + 1}`);
  for (const text of await Promise.all(urls.map(ask))) process.stdout.write(text);
}
