// The whole page: what a snapshot changes, the latest requests, the connection, the keys.

const LINES = 300;    // requests that have ended: kept
const SHOWN = 60;     // and shown
const SLOW = 1000;    // ms: it has waited long
const SILENT = 4000;  // ms without news, of which the page tells

function accept(snapshot) {
  lastNews = Date.now();
  refusal = '';
  process = snapshot;
  const now = snapshot.now;
  const present = new Set(snapshot.upstreams.map(one => one.name));
  for (const name of snapshot.full ? [...rows.keys()].filter(name => !present.has(name)) : snapshot.gone) {
    rows.get(name)?.body.remove();
    rows.delete(name);
    if (open === name) open = '';
  }
  snapshot.upstreams.forEach(one => {
    if (!rows.has(one.name)) rows.set(one.name, new Row(one.name));
    rows.get(one.name).learn(now, one);
  });
  if (snapshot.full) order(snapshot.upstreams.map(one => one.name));
  if (!accept.binned || now - accept.binned >= BIN * 1000 - 300) {
    accept.binned = now;
    for (const row of rows.values()) row.bin(now);
  }
  if (!held) show(now);
  tell();
}
function order(names) {
  const table = $('ups');
  let before = table.querySelector('thead');
  for (const name of names) {
    const {body} = rows.get(name);
    if (before.nextElementSibling !== body) before.after(body);
    before = body;
  }
}
function show(now) {
  shownAt = now;
  for (const row of rows.values()) {
    if (!row.body.isConnected) $('ups').append(row.body);
    row.show(now);
  }
  showHead();
  find();
  showLines();
}
const fact = (id, label, text, alarm) => {
  const node = $(id);
  node.replaceChildren(label, el('b', '', text));
  node.classList.toggle('alarm', Boolean(alarm));
  node.hidden = !text;
};
function showHead() {
  put($('version'), 'penstock ' + process.version);
  fact('listen', 'proxy ', process.listen);
  fact('clients', 'clients ', grouped(process.connections));
  fact('redis', 'Redis ', process.redis && process.redis.state, process.redis && (!process.redis.up || process.redis.limitsDiffer.length));
  const since = process.loadedAt ? ', ' + span(process.now - process.loadedAt * 1000) + ' ago' : '';
  fact('config', 'config ', process.configHash ? process.configHash.slice(0, 6) + since : '');
  const rest = $('rest');
  rest.hidden = !process.notShown;
  put(rest, process.notShown ? `${grouped(process.notShown)} more upstreams are not shown: these are the busiest.` : '');
}
function find() {
  const wanted = $('find').value.trim().toLowerCase();
  for (const row of rows.values()) row.body.hidden = Boolean(wanted) && !row.name.toLowerCase().includes(wanted) && row.name !== open;
}

// What has ended.
const lines = [];
const filters = {bad: false, slow: false, up: '', who: ''};
function take(data) {
  lines.unshift(...data.lines.reverse());
  lines.length = Math.min(lines.length, LINES);
  take.dropped = data.dropped;
  if (!held) showLines();
}
function passes(line, wanted) {
  return (!filters.bad || line.status >= 400 || line.event !== 'complete') && (!filters.slow || line.waitMs > SLOW) &&
    (!filters.up || line.upstream === filters.up) && (!filters.who || line.client === filters.who) &&
    (!wanted || `${line.upstream} ${line.method} ${line.host}${line.path} ${line.client} ${line.id}`.toLowerCase().includes(wanted));
}
function lineRow(line) {
  const bad = line.status >= 400 || line.event !== 'complete';
  const waited = line.waitMs >= 1 ? `waited ${span(line.waitMs)}${line.limitedBy ? ' for ' + line.limitedBy : ''}` : '';
  const took = known(line.flightMs) ? `took ${span(line.flightMs)}` : '';
  const who = [line.client, line.user, line.attempts > 1 ? `attempts ${line.attempts}` : ''].filter(Boolean).join(' · ');
  const what = `${line.method} ${line.host}${line.path}` + (line.detail && bad ? ` — ${line.detail}` : '');
  const cells = [['time', line.ts.slice(11, 23)], [bad ? 'bad' : '', line.status ? String(line.status) : line.event], ['', line.upstream || '–'], ['path', what], ['', waited], ['soft', took], ['soft', who]];
  const row = roled(el('tr', '', ...cells.map(([kind, text]) => roled(el('td', kind, text), 'cell'))), 'row');
  row.title = what;
  return row;
}
// Those of the lines, and the chosen one as long as it is chosen.
function choices(select, field, chosen) {
  const values = [...new Set([...lines.map(line => line[field]), chosen])].filter(Boolean).sort();
  const offered = [...select.options].slice(1).map(option => option.value);
  if (values.join('\n') === offered.join('\n') || document.activeElement === select) return;
  const [first] = select.options;
  select.replaceChildren(first, ...values.map(value => set(el('option', '', value), 'value', value)));
  select.value = chosen;
}
function showLines() {
  const wanted = $('find').value.trim().toLowerCase();
  const shown = lines.filter(line => passes(line, wanted)).slice(0, SHOWN);
  if (showLines.last !== shown[0] || showLines.count !== shown.length) {
    $('lines-body').replaceChildren(...shown.map(line => line.row ||= lineRow(line)));
    [showLines.last, showLines.count] = [shown[0], shown.length];
  }
  $('lines').hidden = !shown.length;
  $('quiet').hidden = shown.length > 0;
  put($('quiet'), process && !process.details ? 'not shown: ' + process.detailsWhy : lines.length ? 'none of the latest is so' : 'no request has ended yet');
  put($('left-out'), take.dropped ? `${grouped(take.dropped)} more ${frozen ? 'before these' : 'in that second'} are not shown` : '');
  choices($('f-up'), 'upstream', filters.up);
  choices($('f-who'), 'client', filters.who);
}

// The connection.
let source = null;
function connect() {
  source?.close();
  clearTimeout(connect.again);
  source = new EventSource('live' + (open ? '?upstream=' + encodeURIComponent(open) : ''));
  const from = source;
  const on = (kind, action) => from.addEventListener(kind, event => { if (from === source) action(JSON.parse(event.data)); });
  on('snapshot', accept);
  on('events', take);
  on('details', data => { details = data; if (!held) rows.get(data.upstream)?.showMore(); });
  from.onerror = () => {
    if (from !== source) return;
    if (from.readyState === EventSource.CLOSED) ask();
    tell();
  };
}
// An EventSource does not say why it was refused; the same question, asked otherwise, does.
async function ask() {
  connect.again = setTimeout(connect, 5000);
  const stop = new AbortController();
  try {
    const answer = await fetch('live', {signal: stop.signal});
    refusal = answer.ok ? '' : `${answer.status}: ${(await answer.text()).trim()}`;
  } catch {
    refusal = '';
  }
  stop.abort();
  tell();
}
function tell() {
  const silent = !frozen && Date.now() - lastNews > SILENT;
  const age = process ? `; what is shown is ${span(Date.now() - lastNews)} old` : '';
  const draining = process && process.draining;
  document.body.className = refusal ? 'refused' : silent ? 'stale' : frozen ? '' : draining ? 'draining' : 'live';
  put($('ready'), refusal || silent ? 'not connected' : !process ? 'connecting' : frozen && frozen.title ? 'ended' : draining ? 'draining' : 'ready');
  const words = refusal ? `Not connected: ${refusal}${age}` : silent ? (source && source.readyState !== 1 ? 'Connection lost' : 'No news') + age
    : held ? `The view is held still; what is shown is ${span(Math.max(0, process.now - shownAt))} old` : frozen && frozen.title || '';
  const news = $('news');
  news.hidden = !words;
  put(news, words);
}

// Hands.
function hold() {
  held = !held;
  set($('hold'), 'aria-pressed', held);
  if (!held && process) show(process.now);
  tell();
}
$('hold').addEventListener('click', hold);
$('find').addEventListener('input', () => { find(); showLines(); });
for (const [id, name] of [['f-bad', 'bad'], ['f-slow', 'slow']]) {
  $(id).addEventListener('click', () => { filters[name] = !filters[name]; set($(id), 'aria-pressed', filters[name]); showLines(); });
}
for (const [id, name] of [['f-up', 'up'], ['f-who', 'who']]) $(id).addEventListener('change', () => { filters[name] = $(id).value; showLines(); });
document.addEventListener('keydown', event => {
  const {target, key} = event;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (key === 'Escape') {
    if (target === $('find')) $('find').value = '', target.blur(), find(), showLines();
    else if (open) { const row = rows.get(open); toggle(open); row?.button.focus(); }
  } else if (key === '/' && !/INPUT|SELECT/.test(target.tagName)) {
    event.preventDefault();
    $('find').focus();
  } else if (key === ' ' && !/INPUT|SELECT|BUTTON/.test(target.tagName)) {
    event.preventDefault();
    hold();
  } else if ((key === 'ArrowDown' || key === 'ArrowUp') && !/INPUT|SELECT/.test(target.tagName)) {
    const buttons = [...document.querySelectorAll('tbody.up:not([hidden]) .name button')];
    const next = buttons[buttons.indexOf(target) + (key === 'ArrowDown' ? 1 : -1)];
    if (next) event.preventDefault(), next.focus();
  }
});

const copy = $('frozen');
if (copy) {
  frozen = JSON.parse(copy.textContent);
  for (const [name, history] of Object.entries(frozen.history || {})) {
    rows.set(name, new Row(name));
    rows.get(name).history = history.slice(-SEEN);
  }
  $('hold').hidden = true;
  accept({...frozen.snapshot, full: true});
  take({lines: frozen.events || [], dropped: frozen.dropped || 0});
  if (frozen.open) toggle(frozen.open);
} else {
  lastNews = Date.now();
  setInterval(tell, 1000);
  connect();
}
