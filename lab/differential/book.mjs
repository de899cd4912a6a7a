// SPDX-License-Identifier: Apache-2.0
// Brings together what the client sent, as the strict reader has it, what it was answered, what the event log says, and
// what Node saw. The answers of a connection belong to its requests in their order; a number in each answer of Node's
// says which of Node's requests it answers.

/// The path and query that an origin is to see for this target; nothing where it goes elsewhere.
export function forwarded({ method, target }, host) {
  const found = /^http:\/\/([^/?]*)(.*)$/i.exec(target);
  if (!found || found[1].toLowerCase().replace(/\.(?=:)/, '') !== host) return null;
  if (found[2] === '') return method === 'OPTIONS' ? '*' : '/';
  return found[2].startsWith('?') ? `/${found[2]}` : found[2];
}

function tally(entries) {
  const counts = new Map();
  for (const entry of entries) counts.set(entry, (counts.get(entry) ?? 0) + 1);
  return counts;
}

export class Book {
  constructor(origin, host) {
    this.origin = origin;
    this.host = host;
    this.wrongs = [];
    this.answered = [];  // by number of Node's: how often
    this.counts = { variants: 0, whole: 0, forwarded: 0, refused: 0, left: 0 };
  }

  /// One connection.
  add({ text, strict, answers, rest, wrong, how }) {
    const complain = (what) => this.wrongs.push(`${what}\n    sent ${JSON.stringify(text)}\n    strictly ${JSON.stringify(strict)}\n    answered ${JSON.stringify(answers)}`);
    ++this.counts.variants;
    this.counts.whole += strict.requests.length;
    this.counts.left += how === 'left';
    if (wrong) complain(wrong);
    if (how === 'patience') complain('Penstock waits where the strict reader has seen an end');
    if (how === 'closed' && rest !== '') complain(`half an answer: ${JSON.stringify(rest)}`);
    answers.forEach((answer, place) => this.match(answer, strict.requests[place], complain));
  }

  match(answer, request, complain) {
    if (answer.seen === null || answer.seen === 'none') {
      ++this.counts.refused;
      return;
    }
    const seen = this.origin.seen[answer.seen];
    ++this.counts.forwarded;
    this.answered[answer.seen] = (this.answered[answer.seen] ?? 0) + 1;
    if (!request) return complain(`forwarded, where the strict reader has no request: ${JSON.stringify(seen)}`);
    const wanted = [request.method, forwarded(request, this.host), request.body];
    if (JSON.stringify(wanted) !== JSON.stringify([seen.method, seen.url, seen.body])) {
      complain(`Node saw another request: ${JSON.stringify(seen)}`);
    }
    if (request.method !== 'HEAD' && answer.body !== seen.body) complain('the answer is another one\'s');
  }

  /// The whole, when all is over.
  close(penstock) {
    this.wrongs.push(...this.origin.complaints);
    if (penstock.code !== 0 || /Sanitizer|runtime error/.test(penstock.said)) {
      this.wrongs.push(`the program ended with ${penstock.code}:\n${penstock.said}`);
    }
    this.answered.forEach((times, number) => {
      if (times !== 1) this.wrongs.push(`request ${number} of Node's was answered to ${times} clients`);
    });
    this.compareWithLog(penstock.events);
  }

  compareWithLog(events) {
    const key = (method, path) => `${method} ${path.split('?')[0]}`;
    const of = (kind) => tally(events.filter((each) => each.event === kind && each.upstream === 'origin').map((each) => key(each.method, each.path)));
    const dispatched = of('dispatch');
    const complete = of('complete');
    const seen = tally(this.origin.seen.map((each) => key(each.method, each.url)));
    const whole = tally(this.origin.seen.filter((each) => each.whole).map((each) => key(each.method, each.url)));
    const answered = tally(this.origin.seen.filter((_, number) => this.answered[number]).map((each) => key(each.method, each.url)));
    this.within(seen, dispatched, 'seen by Node', 'dispatched');
    this.within(answered, complete, 'answered', 'complete');
    // What Node does not know by its method is complete too, with its 501.
    let unknown = 0;
    for (const [name, count] of complete) unknown += Math.max(0, count - (whole.get(name) ?? 0));
    if (unknown > this.origin.unknown) this.wrongs.push(`${unknown} requests are complete in the log, and not whole with Node`);
    this.logged = events.length;
  }

  within(some, all, what, whole) {
    for (const [name, count] of some) {
      if (count > (all.get(name) ?? 0)) this.wrongs.push(`${name}: ${count} ${what}, ${all.get(name) ?? 0} ${whole} in the log`);
    }
  }

  summary() {
    const { variants, whole, forwarded, refused, left } = this.counts;
    const connections = [...this.origin.connections.values()];
    const compared = connections.reduce((sum, each) => sum + each.compared, 0);
    return `${variants} variants with ${whole} whole requests; ${forwarded} forwarded and answered, ${refused} refused, ${left} cut off; `
      + `${this.origin.seen.length} seen by Node on ${connections.length} connections, ${compared} of them whole for both readers; ${this.logged} lines of the log`;
  }
}
