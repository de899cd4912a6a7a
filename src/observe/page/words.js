'use strict';
// How elements are made, and figures and limits put into words. What a server says is text: it gets into the document by
// textContent and by attributes alone. The files follow each other in one script: words, drawing, rows, page.

const $ = id => document.getElementById(id);
const put = (node, text) => { if (node.textContent !== text) node.textContent = text; return node; };
const set = (node, name, value) => { if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value); return node; };
const el = (tag, kind, ...inside) => {
  const node = document.createElement(tag);
  if (kind) node.className = kind;
  node.append(...inside);
  return node;
};
const draw = (tag, attributes, ...inside) => {
  const node = document.createElementNS('http' + '://www.w3.org/2000/svg', tag);
  for (const name in attributes) node.setAttribute(name, attributes[name]);
  node.append(...inside);
  return node;
};
const roled = (node, role) => set(node, 'role', role);

// Figures. What is not known is never 0.
const known = value => value !== null && value !== undefined;
const grouped = value => String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, '\u202f');
const figure = value => Math.abs(value - Math.round(value)) < 0.05 || value >= 100 ? grouped(value) : value.toFixed(1);
function span(ms) {
  if (!known(ms)) return '–';
  if (ms < 100) return Math.round(ms) + ' ms';
  if (ms < 60000) return (ms / 1000).toFixed(1) + ' s';
  if (ms < 120000) return Math.round(ms / 1000) + ' s';
  if (ms < 7200000) return Math.round(ms / 60000) + ' min';
  if (ms < 172800000) return Math.round(ms / 3600000) + ' h';
  return Math.round(ms / 86400000) + ' d';
}

// A limit that is spent until it begins anew. The others fill again all the time, so that at no pace they last so long.
const isSpent = limit => (limit.kind === 'window' || limit.kind === 'counter') && known(limit.used);
// How fast it is used, by all processes that share it: smoothed, and by what is used alone. `alone`: if this is all that is known.
function paced(limit, before, now, alone) {
  if (before && now <= before.at) return before;
  let perMs = before ? before.perMs : alone;
  if (before && limit.used >= before.used) {
    const speed = (limit.used - before.used) / (now - before.at);
    perMs = known(perMs) ? perMs * 0.9 + speed * 0.1 : speed;
  }
  return {at: now, used: limit.used, perMs};
}
// A limit: its name, how full it is, and words.
function limitWords(limit, memory) {
  const opens = known(limit.opensInMs) && limit.opensInMs > 0 ? 'next in ' + span(limit.opensInMs) : '';
  if (limit.kind === 'pacer' || limit.kind === 'adaptive') {
    const rate = known(limit.rate) ? figure(limit.rate) + '/s' : 'not shown';
    return opens ? rate + ', ' + opens : rate;
  }
  if (!known(limit.used) || !known(limit.of)) return 'not shown';
  const words = `${figure(limit.used)} of ${figure(limit.of)}`;
  const left = limit.of - limit.used, speed = memory?.get(limit.name)?.perMs ?? 0;
  if (left <= 0) return words + (opens ? ', ' + opens.replace('next', 'opens') : '');
  const lasts = speed > 0 ? left / speed : Infinity;
  if (known(limit.resetsInMs) && lasts >= limit.resetsInMs) return limit.resetsInMs > 0 ? `${words}, resets in ${span(limit.resetsInMs)}` : words;
  return lasts < 864e5 ? `${words}, ${span(lasts)} left at this pace` : words;
}
