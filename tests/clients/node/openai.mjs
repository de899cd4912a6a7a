// SPDX-License-Identifier: Apache-2.0
// openai.mjs COUNT [undici]: so many chats at once by OpenAI's SDK, which reads OPENAI_BASE_URL and OPENAI_API_KEY; prints
// each piece of an answer as it comes. With `undici` it is given a fetch that obeys the environment.
import OpenAI from 'openai';

async function client() {
  if (process.argv[3] !== 'undici') return new OpenAI();
  const undici = await import('undici');
  return new OpenAI({ fetch: undici.fetch, fetchOptions: { dispatcher: new undici.EnvHttpProxyAgent() } });
}

const openai = await client();

async function chat(number) {
  const stream = await openai.chat.completions.create({
    model: 'gpt-4o-mini',
    messages: [{ role: 'user', content: `Chat ${number}` }],
    stream: true,
  });
  for await (const event of stream) console.log(`${number} ${event.choices[0].delta.content}`);
}

await Promise.all(Array.from({ length: Number(process.argv[2]) }, (_, index) => chat(index + 1)));
