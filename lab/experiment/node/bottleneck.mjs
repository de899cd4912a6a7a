// SPDX-License-Identifier: Apache-2.0
// One process of the experiment with Bottleneck's Redis clustering: each worker asks the origin again as soon as it has
// its answer, under one limiter that all processes share. For lab/experiment only.
//   bottleneck.mjs ORIGIN-PORT REDIS-PORT PROCESS WORKERS SECONDS '{"minTime": 2.5}'
// Prints `ready`, waits for a line, and at the end prints {"answers": 1, "worst_ms": 2.0}.
import http from "node:http";
import readline from "node:readline";
import Bottleneck from "bottleneck";

const [originPort, redisPort, process_, workers, seconds] = process.argv.slice(2, 7).map(Number);
const agent = new http.Agent({ keepAlive: true });

function request() {
  return new Promise((resolve, reject) => {
    const headers = { "Experiment-Process": String(process_) };
    const sent = http.get({ port: originPort, host: "127.0.0.1", path: "/0", headers, agent }, (answer) => {
      if (answer.statusCode !== 200) reject(new Error(`status ${answer.statusCode}`));
      answer.resume().on("end", resolve).on("error", reject);
    });
    sent.on("error", reject);
  });
}

const limiter = new Bottleneck({
  id: "experiment",
  datastore: "ioredis",
  clientOptions: { host: "127.0.0.1", port: redisPort },
  ...JSON.parse(process.argv[7]),
});
const broken = new Promise((_, reject) => limiter.on("error", reject));
await limiter.ready();

console.log("ready");
await new Promise((resolve) => readline.createInterface(process.stdin).once("line", resolve));

const until = performance.now() + seconds * 1000;
let answers = 0;
let worst = 0;

async function work() {
  for (let asked = performance.now(); asked < until; asked = performance.now()) {
    await limiter.schedule(request);
    worst = Math.max(worst, performance.now() - asked);
    ++answers;
  }
}

await Promise.race([broken, Promise.all(Array.from({ length: workers }, work))]);
console.log(JSON.stringify({ answers, worst_ms: worst }));
