// What is drawn: bars, squares, the five minutes, and the parts of a row that was opened.

function bar(part, calm) {
  const fill = draw('rect', {class: 'fill', height: '100%', rx: 2});
  const whole = draw('svg', {class: 'bar', 'aria-hidden': 'true'}, draw('rect', {class: 'track', width: '100%', height: '100%', rx: 2}), fill);
  whole.fill = fill;
  return level(whole, part, calm);
}
function level(whole, part, calm) {
  const share = Math.max(0, Math.min(1, part || 0));
  set(whole.fill, 'width', (share * 100).toFixed(1) + '%');
  set(whole, 'class', 'bar' + (calm ? '' : share >= 1 ? ' full' : share >= 0.8 ? ' tight' : ''));
  return whole;
}
function squares(busy, most) {
  const count = Math.min(most, 8);
  const whole = draw('svg', {class: 'squares', 'aria-hidden': 'true', viewBox: `0 0 ${count * 12 - 2} 10`, width: count * 12 - 2, height: 10});
  const on = most > count && busy < most ? Math.min(count - 1, Math.ceil(busy * count / most)) : Math.min(busy, count);
  for (let i = 0; i < count; ++i) whole.append(draw('rect', {x: i * 12 + .5, y: .5, width: 9, height: 9, rx: 1.5, class: i < on ? 'on' : ''}));
  return whole;
}
function spark(history) {
  const top = Math.max(1, ...history);
  const at = (value, i) => `${((SEEN - history.length + i) / (SEEN - 1) * 120).toFixed(1)},${(22 - value / top * 20).toFixed(1)}`;
  const points = history.map(at);
  const whole = draw('svg', {class: 'spark', viewBox: '0 0 120 24', preserveAspectRatio: 'none', 'aria-hidden': 'true'},
    draw('line', {class: 'base', x1: 0, x2: 120, y1: 23, y2: 23}));
  if (points.length > 1) {
    const [left] = points[0].split(',');
    whole.append(draw('polygon', {class: 'area', points: `${left},23 ${points.join(' ')} 120,23`}), draw('polyline', {class: 'edge', points: points.join(' ')}));
  }
  return whole;
}
function gauge(limit, memory) {
  const item = el('li', '', el('b', '', limit.name + (limit.mode === 'shadow' ? ` (shadow${known(limit.wouldWait) ? `, ${grouped(limit.wouldWait)} would have waited` : ''})` : '')));
  const words = limitWords(limit, memory);
  if (known(limit.used) && limit.of > 0 && limit.kind !== 'pacer') item.append(bar(limit.used / limit.of));
  item.append(el('span', words.includes('not shown') ? 'unknown' : '', words));
  return item;
}
function tally(pairs, none) {
  if (!pairs.length) return el('p', 'zero', none);
  const most = Math.max(...pairs.map(pair => pair[1]));
  const list = el('dl', 'tally');
  for (const [name, count] of pairs) {
    list.append(set(el('dt', '', name || '(none)'), 'title', name), el('dd', '', bar(count / most, true)), el('dd', '', grouped(count)));
  }
  return list;
}
const part = (title, ...inside) => el('section', '', el('h3', '', title), ...inside);
