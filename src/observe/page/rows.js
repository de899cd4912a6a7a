// A row for each upstream, and what an open one shows.

const SEEN = 60;  // columns of the five minutes: so many are kept
const BIN = 5;    // s, of each column
const rows = new Map();
let open = '', held = false, shownAt = 0, lastNews = 0, refusal = '', process = null, details = null, frozen = null;

class Row {
  constructor(name) {
    this.name = name;
    this.history = [];   // requests sent in each BIN seconds
    this.recent = [];    // [when, dispatched]
    this.memory = new Map();
    const cell = (kind, label) => set(roled(el('td', kind), 'cell'), 'data-label', label);
    this.button = set(set(el('button', '', name), 'type', 'button'), 'aria-expanded', 'false');
    this.button.title = name;
    const head = set(roled(el('th', 'name', this.button), 'rowheader'), 'scope', 'row');
    this.waiting = cell('waiting', 'waiting');
    this.waitBar = bar(0), this.waitText = el('span');
    this.waiting.append(el('div', 'meter', this.waitBar, this.waitText));
    this.flight = cell('flight', 'in flight');
    this.out = cell('num out', 'out/s');
    this.five = cell('five', '5 minutes');
    this.p99 = cell('num p99', 'p99 wait');
    this.refused = cell('num refused', 'their 429s');
    this.state = roled(el('td', 'state'), 'cell');
    this.main = roled(el('tr', 'main', head, this.waiting, this.flight, this.out, this.five, this.p99, this.refused, this.state), 'row');
    this.limits = roled(el('td'), 'cell');
    this.limitRow = roled(el('tr', 'lim', set(this.limits, 'colspan', 8)), 'row');
    this.panel = roled(el('td'), 'cell');
    this.more = roled(el('tr', 'more', set(this.panel, 'colspan', 8)), 'row');
    this.more.hidden = true;
    this.body = roled(el('tbody', 'up', this.main, this.limitRow, this.more), 'rowgroup');
    this.main.addEventListener('click', () => toggle(this.name));
  }

  // Keeps what the server does not: how much went out when, and how fast a limit fills.
  learn(now, data) {
    const sent = data.totals.dispatched;
    const last = this.recent.at(-1);
    if (last && sent < last[1]) this.recent = [];
    this.recent.push([now, sent]);
    while (this.recent.length > 2 && now - this.recent[0][0] > 10500) this.recent.shift();
    const alone = frozen ? data.lastMinute.out / 60000 : null;
    this.memory = new Map(data.limits.filter(isSpent).map(limit => [limit.name, paced(limit, this.memory.get(limit.name), now, alone)]));
    this.data = data;
    this.at = now;
  }
  bin(now) {
    const sent = this.data.totals.dispatched;
    if (known(this.binned)) this.history.push(Math.max(0, sent - this.binned));
    if (this.history.length > SEEN) this.history.shift();
    this.binned = sent;
  }
  perSecond(now) {
    const first = this.recent[0], last = this.recent.at(-1);
    const ms = Math.min(10000, now - first[0]);
    return ms >= 900 ? (last[1] - first[1]) * 1000 / ms : known(this.data.lastMinute.outPerSecond) ? this.data.lastMinute.outPerSecond : this.data.lastMinute.out / 60;
  }

  // Countdowns alone do not make the server say an upstream again.
  limitsNow(now) {
    const left = ms => known(ms) ? Math.max(0, ms - (now - this.at)) : ms;
    return this.data.limits.map(limit => ({...limit, opensInMs: left(limit.opensInMs), resetsInMs: left(limit.resetsInMs)}));
  }

  show(now) {
    const {data} = this;
    this.limitsShown = this.limitsNow(now);
    const most = data.maxPending;
    put(this.waitText, data.pending || most ? `${grouped(data.pending)}/${known(most) ? grouped(most) : '–'}` : '0');
    this.waitText.className = data.pending ? '' : 'zero';
    level(this.waitBar, most ? data.pending / most : 0);
    const [busy, places] = data.tunnelsOnly ? [data.tunnels.busy, data.maxTunnels] : [data.inFlight, data.maxConcurrent];
    const flight = `${grouped(busy)}/${grouped(places)}`;
    if (this.flying !== flight) {
      this.flying = flight;
      this.flight.replaceChildren(el('div', 'meter', squares(busy, places), el('span', busy ? '' : 'zero', flight)));
    }
    const rate = this.perSecond(now);
    put(this.out, rate < 100 ? rate.toFixed(1) : grouped(rate));
    this.out.classList.toggle('zero', !rate);
    const drawn = data.tunnelsOnly ? '' : this.history.join();
    if (this.drawn !== drawn) this.drawn = drawn, this.five.replaceChildren(...drawn ? [spark(this.history)] : []);
    put(this.p99, span(data.lastMinute.waitMs.p99));
    this.p99.classList.toggle('zero', !data.lastMinute.waitMs.p99);
    put(this.refused, data.tunnelsOnly ? '–' : grouped(data.lastMinute.upstream429));  // what is in tunnels nobody sees
    this.refused.classList.toggle('zero', !data.lastMinute.upstream429);
    this.showState();
    this.limits.replaceChildren(el('ul', 'gauges', ...this.limitsShown.map(limit => gauge(limit, this.memory))));
    this.limitRow.hidden = data.limits.length === 0 || this.name === open;
    this.showMore();
  }
  showState() {
    const {state} = this.data;
    if (this.said === state + this.data.tunnelsOnly) return;
    this.said = state + this.data.tunnelsOnly;
    const [loud] = state.match(/^(partly )?[A-Z]{3,}/) || [''];
    this.state.replaceChildren(el('b', '', loud), state.slice(loud.length));
    if (!state) this.state.replaceChildren();
    this.state.className = 'state' + (loud ? ' alarm' : this.data.head ? ' held' : '');
    if (!this.data.tunnelsOnly) return;
    const how = set(el('button', 'how', 'how to change that'), 'type', 'button');
    this.state.append(' ', how);
  }
  showMore() {
    const is = this.name === open;
    set(this.button, 'aria-expanded', is);
    this.body.classList.toggle('open', is);
    this.more.hidden = !is;
    if (!is) return this.panel.replaceChildren();
    const {data, limitsShown} = this, minute = data.lastMinute;
    const mine = details && details.upstream === this.name && !details.gone ? details : null;
    const panel = el('div', 'panel');
    panel.append(part('limits', limitsShown.length ? el('ul', 'gauges', ...limitsShown.map(limit => gauge(limit, this.memory))) : el('p', 'zero', 'none: only its places in flight')));
    const codes = Object.entries(minute.statuses), refused = Object.entries(minute.refused).map(([kind, count]) => ['refused: ' + kind, count]);
    panel.append(part('answers in the last minute', tally([...codes, ...refused], 'none')));
    if (mine) {
      panel.append(part('waiting, by client', tally(mine.callers, 'nobody waits')));
      if (mine.groups.length) {
        panel.append(part('waiting, by group', tally(mine.groups.map(group => [group.name, group.pending]), 'nobody waits')));
        const own = mine.groups.filter(group => group.limits.length);
        const meters = own.flatMap(group => group.limits.map(limit => gauge({...limit, name: `${group.name || '(none)'}: ${limit.name}`})));
        if (meters.length) panel.append(part('limits of groups, the fullest', el('ul', 'gauges', ...meters)));
      }
      const longest = part('wait longest', waitingTable(mine.waiting));
      longest.className = 'wide';
      panel.append(longest);
    } else {
      panel.append(part('clients, groups, what waits', el('p', 'unknown', process.details ? frozen ? 'not shown: not in this copy' : 'not shown yet' : 'not shown: ' + process.detailsWhy)));
    }
    const words = [];
    if (data.tunnelsOnly) words.push('Only tunnels (CONNECT) go to this upstream, so requests in them are neither seen nor limited. With `https: intercept` or `https: originate` for it, they are: docs/https.md.');
    if (mine && mine.explain) words.push(mine.explain);
    if (words.length) {
      const how = part('how it is limited', el('p', 'explain', words.join('\n\n')));
      how.className = 'wide';
      panel.append(how);
    }
    this.panel.replaceChildren(panel);
  }
}

function waitingTable(waiting) {
  if (!waiting.length) return el('p', 'zero', 'nothing waits');
  const header = roled(el('tr', '', ...['since', 'waits for', 'leaves in', 'client', 'id', 'request'].map(name => set(roled(el('th', '', name), 'columnheader'), 'scope', 'col'))), 'row');
  const table = roled(el('table', 'list', roled(el('thead', '', header), 'rowgroup')), 'table');
  const body = roled(el('tbody'), 'rowgroup');
  for (const one of waiting) {
    const cells = [['', span(one.sinceMs)], ['', one.limitedBy || 'a slot'], ['', span(one.leavesInMs)], ['soft', one.client + (one.user ? ' ' + one.user : '')], ['id', one.id], ['path', `${one.method} ${one.host}${one.path}`]];
    body.append(roled(el('tr', '', ...cells.map(([kind, text]) => roled(el('td', kind, text), 'cell'))), 'row'));
  }
  table.append(body);
  return set(set(el('div', 'scroll', table), 'tabindex', 0), 'aria-label', 'What waits longest');
}

function toggle(name) {
  open = open === name ? '' : name;
  details = frozen && frozen.details ? frozen.details[open] || null : null;
  for (const row of rows.values()) if (row.data) row.show(shownAt);
  if (!frozen) connect();
}
