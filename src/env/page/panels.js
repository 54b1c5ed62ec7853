/* ---- the candidates of a step: hovering looks at one, a click holds it ---- */
let shown = -1, hovered = -1, held = -1;
const looked = () => hovered >= 0 ? hovered : held;
const short = x => x === null || x === undefined ? '-' : String(Number(x.toPrecision(4)));
function look(at, hold) {
  if (hold) { held = held === at ? -1 : at; setPlaying(false); } else if (hovered === at) return; else hovered = at;
  render();
}
function rowOf(f, k) {
  const row = document.createElement('button'), bar = document.createElement('i'), text = document.createElement('em');
  const name = document.createElement('span'), value = document.createElement('span'), known = (f.scores[k] ?? null) !== null;
  row.type = 'button';
  name.textContent = k;
  bar.style.width = known ? 4 + 96 * rank(f, k) + '%' : '0';
  bar.style.background = known ? ramp(rank(f, k)) : 'none';
  value.textContent = short(f.scores[k]) + (f.weights ? ', ' + Math.round(100 * f.weights[k]) + '%' : '');
  text.textContent = [k === f.chosen ? (f.weights ? 'highest score' : 'chosen') : '', f.labels[k]].filter(x => x).join(': ');
  row.append(name, bar, value);
  if (text.textContent) row.append(text);
  row.onpointerenter = e => { if (e.pointerType !== 'touch') look(k); };
  row.onpointerleave = () => look(-1);
  row.onclick = () => look(k, true);
  return row;
}
function showCandidates(i) {
  if (!decided) return;
  const f = main.frames[i], list = $('candidates');
  if (i !== shown) list.replaceChildren(...f.scores.map((x, k) => rowOf(f, k)));
  const taken = i !== shown && list.children[f.chosen];
  if (taken) list.scrollTop = taken.offsetTop - list.offsetTop - (list.clientHeight - taken.clientHeight) / 2;
  shown = i;
  [...list.children].forEach((row, k) => row.className = (k === f.chosen ? 'chosen ' : '') + (k === looked() ? 'looked' : ''));
  $('note').textContent = noteOn(f, i);
}
/* Imagined against real, in words. */
function noteOn(f, i) {
  if (!f.scores.length) return 'The episode is over: nothing is decided any more.';
  const k = looked(), steps = Math.min(data.horizon || 0, main.rewards.length - i);
  const real = main.rewards.slice(i, i + steps).flat().reduce((x, y) => x + y, 0);
  const executed = f.weights ? 'Executed: the first step of the mean of all, weighted by the percentages. ' : '';
  const then = steps ? 'The ' + steps + ' steps that followed, each planned anew, earned ' + short(real) + ' in all.' : '';
  if (k >= 0 && k !== f.chosen) return 'Candidate ' + k + (data.horizon ? ' was imagined to earn ' : ' has the score ') +
    short(f.scores[k]) + ', the chosen one ' + short(f.scores[f.chosen]) + '. ' + then;
  return executed + (steps ? 'The chosen one is imagined to earn ' + short(f.scores[f.chosen]) + '. ' : '') + then;
}

/* ---- rewards over time; those of the episode beside are dashed ---- */
const lowHigh = (values, pick) => values.length ? [values.reduce((x, y) => pick(x, y))] : [];
function drawPlot(time) {
  const c = $('plot'), g = c.getContext('2d'), dpr = window.devicePixelRatio || 1;
  const left = 52 * dpr, right = c.width - 8 * dpr, top = 8 * dpr, bottom = c.height - 16 * dpr;
  const flat = main.rewards.flat().concat(alone ? alone.mean : []).filter(r => r !== null);
  let low = Math.min(0, ...lowHigh(flat, Math.min)), high = Math.max(0, ...lowHigh(flat, Math.max));
  if (!(high > low)) high = low + 1;
  const X = i => left + (right - left) * (last > 0 ? i / last : 0), Y = r => bottom - (bottom - top) * (r - low) / (high - low);
  g.clearRect(0, 0, c.width, c.height);
  g.font = 11 * dpr + 'px system-ui, sans-serif';
  g.fillStyle = ink.soft; g.textAlign = 'right'; g.textBaseline = 'middle';
  g.strokeStyle = ink.line; g.lineWidth = dpr;
  for (const r of [low, high, 0]) {
    if (r === 0 && Math.min(Y(low) - Y(0), Y(0) - Y(high)) < 12 * dpr && low < 0 && high > 0) continue;
    g.fillText(Number(r.toPrecision(3)), left - 6 * dpr, Y(r));
    g.beginPath(); g.moveTo(left, Y(r)); g.lineTo(right, Y(r)); g.stroke();
  }
  g.textBaseline = 'alphabetic';
  g.fillText(last + ' steps', right, c.height - 3 * dpr);
  const curve = (values, hue, width) => {
    g.strokeStyle = hue; g.lineWidth = width * dpr; g.lineJoin = 'round';
    g.beginPath();
    values.forEach((r, i) => i ? g.lineTo(X(i + 1), Y(r)) : g.moveTo(X(1), Y(r)));
    g.stroke();
  };
  const differ = !alone && main.rewards.some(r => r.some(x => Math.abs(x - r[0]) > 1e-6));
  if (differ) for (let k = 0; k < main.agents; k++) curve(main.rewards.map(r => r[k]), agentHue(k), 1);
  g.setLineDash([4 * dpr, 3 * dpr]);
  if (alone) curve(alone.mean, '#d55e00', 1.5);
  g.setLineDash([]);
  curve(main.mean, ink.ink, 1.8);
  g.strokeStyle = ink.accent; g.lineWidth = 2 * dpr;
  g.beginPath(); g.moveTo(X(time), top - 4 * dpr); g.lineTo(X(time), bottom); g.stroke();
}

/* ---- legends in words ---- */
function entry(mark, words) {
  const item = document.createElement('span');
  item.innerHTML = mark;
  item.append(words);
  $('legend').append(item);
}
const line = (hue, width, dash, casing) => '<svg>' +
  (casing ? '<line x1=0 y1=5 x2=30 y2=5 stroke=' + casing + ' stroke-width=6 />' : '') +
  '<line x1=0 y1=5 x2=30 y2=5 stroke=' + hue + ' stroke-width=' + width + ' stroke-dasharray=' + (dash || 'none') + ' /></svg>';
const words = { agent: 'agents, numbered', enemy: 'enemies', prey: 'prey', landmark: 'landmarks to cover', obstacle: 'obstacles',
  food: 'food', forest: 'forests', attack: 'attacks', torso: 'torso', leg: 'legs, one colour for each agent',
  wall: 'walls', floor: 'floor' };
function legend() {
  $('legend').replaceChildren();
  for (const role of new Set(main.frames.flatMap(f => f.shapes.map(s => s.role))))
    entry('<i style=background:' + colour({ role: role, id: 0 }).replace(/ /g, '&#32;') + '></i>', words[role] || role);
  if (drawn) {
    entry(line(ramp(0.1), 2), follow ? 'how far a candidate thinks it gets (side by side)' : 'a way that a candidate imagines');
    entry(line(ramp(1), 3, '', ink.ink), 'the chosen one');
    if (weighed) entry(line(ink.ink, 2, '5,4'), 'their weighted mean, whose first step is executed');
    entry('<svg><circle cx=6 cy=5 r=3 fill=' + ink.card + ' stroke=' + ink.ink + ' /><circle cx=18 cy=5 r=3 fill=' + ink.card +
      ' stroke=' + ink.ink + ' /></svg>', 'where they really went then');
  }
  if (main.frames.some(f => f.shapes.some(s => s.health >= 0))) entry(line('#4ade80', 4), 'health');
  if (main.frames.some(f => f.shapes.some(s => s.shield >= 0))) entry(line('#7dd3fc', 4), 'shield');
}
