// Pictures of the live view: worlds, plots, strips. Functions of what they are given; live.js decides what that is.
// Colours are Okabe and Ito's for things and cividis for amounts: readable with any kind of colour vision.

const CIRCLE = 0, CAPSULE = 1, LINE = 2, RECT = 3;
// They are those of replays (src/env/page/scene.js, src/env/replay_strip.c); a test compares them.
const hues = ['#0072b2', '#cc79a7', '#009e73', '#56b4e9', '#7b4fb5', '#8c6d1f', '#4c78a8', '#b07aa1'];
const fixed = { enemy: '#d55e00', prey: '#e69f00', landmark: '#8a94a3', obstacle: '#6b7686', food: '#2a9d5c',
  forest: '#35a85333', wall: '#8a94a3', attack: '#e6a700', torso: '#475569', floor: '#8a94a3' };
const cividis = [[0, 34, 78], [33, 56, 110], [76, 85, 108], [108, 110, 114], [142, 137, 120], [180, 167, 108],
  [221, 199, 86], [254, 232, 56]];
const dark = matchMedia('(prefers-color-scheme: dark)');
const ink = {};

export const agentHue = id => hues[(id < 0 ? 0 : id) % hues.length];
export const hueOf = s => s.role === 'agent' || s.role === 'leg' ? agentHue(s.id) : fixed[s.role] || '#8a94a3';

// From little (0) to much (1); the end that would drown in the background is left out.
export function ramp(t) {
  const much = Math.max(0, Math.min(1, t)), x = (cividis.length - 1) * (dark.matches ? 0.3 + 0.7 * much : 0.92 * much);
  const i = Math.min(Math.floor(x), cividis.length - 2);
  return 'rgb(' + cividis[i].map((c, k) => Math.round(c + (cividis[i + 1][k] - c) * (x - i))).join(',') + ')';
}
// A candidate's place between the lowest and the highest score of its step.
export function rank(d, k) {
  const known = d.scores.filter(x => x !== null), low = Math.min(...known), high = Math.max(...known);
  return high > low && d.scores[k] !== null ? (d.scores[k] - low) / (high - low) : 0.5;
}

export function readInk() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ['ink', 'soft', 'line', 'grid', 'accent', 'card', 'plan', 'alone'])
    ink[name] = style.getPropertyValue('--' + name).trim();
}

// The canvas in device pixels; ratio: height by width, or 0 for the height that the style says.
function fit(canvas, ratio) {
  const scale = window.devicePixelRatio || 1, width = canvas.clientWidth;
  if (ratio) canvas.style.height = Math.round(width * ratio) + 'px';
  const w = Math.max(1, Math.round(width * scale)), h = Math.max(1, Math.round(canvas.clientHeight * scale));
  if (canvas.width !== w) canvas.width = w;
  if (canvas.height !== h) canvas.height = h;
  const g = canvas.getContext('2d');
  g.clearRect(0, 0, w, h);
  g.lineCap = g.lineJoin = 'round';
  return { g, w, h, px: scale };
}

// [kind, role, id, radius, health, shield, ax, ay, az, bx, by, bz]
export const shapeOf = v => ({ kind: v[0], role: v[1], id: v[2], radius: v[3], health: v[4], shield: v[5],
  a: [v[6], v[7], v[8]], b: [v[9], v[10], v[11]] });

/* ---- cameras ---- */

// A still camera has seen everything so far; `box` grows.
export function growBox(box, shapes, family) {
  if (!box) box = family === 'mpe' ? [-1.15, -1.15, 1.15, 1.15] : [Infinity, Infinity, -Infinity, -Infinity];
  for (const s of shapes)
    if (s.kind !== RECT) for (const p of s.kind === CIRCLE ? [s.a] : [s.a, s.b]) {
      box = [Math.min(box[0], p[0] - s.radius - 0.05), Math.min(box[1], p[1] - s.radius - 0.05),
        Math.max(box[2], p[0] + s.radius + 0.05), Math.max(box[3], p[1] + s.radius + 0.05)];
    }
  return box;
}
function camera(w, h, view) {
  if (view.centre) {
    const scale = Math.min(w, h) / view.span, [cx, cy] = view.centre;
    return { scale, x: p => w / 2 + (p[0] - cx) * scale, y: p => h / 2 - (p[1] - cy) * scale,
      world: (x, y) => [cx + (x - w / 2) / scale, cy - (y - h / 2) / scale] };
  }
  const box = view.box, cx = (box[0] + box[2]) / 2, cy = (box[1] + box[3]) / 2;
  const scale = Math.min(w / (box[2] - box[0]), h / (box[3] - box[1]));
  return { scale, x: p => w / 2 + (p[0] - cx) * scale, y: p => h / 2 - (p[1] - cy) * scale,
    world: (x, y) => [cx + (x - w / 2) / scale, cy - (y - h / 2) / scale] };
}
export function centreOf(shapes) {
  const s = shapes.find(q => q.role === 'torso') || shapes.find(q => q.role === 'agent') || shapes[0];
  return s ? s.a : [0, 0];
}

/* ---- worlds ---- */

function drawGrid(c, cam, family) {
  const { g, w, h, px } = c, step = [0.25, 0.5, 1, 2, 4, 8].find(s => w / cam.scale / s <= 14) || 16;
  const [left, top] = cam.world(0, 0), [right, bottom] = cam.world(w, h);
  g.strokeStyle = ink.grid;
  g.lineWidth = px;
  g.beginPath();
  for (let k = Math.ceil(left / step); k * step <= right; k++) { g.moveTo(cam.x([k * step, 0]), 0); g.lineTo(cam.x([k * step, 0]), h); }
  for (let k = Math.ceil(bottom / step); k * step <= top; k++) { g.moveTo(0, cam.y([0, k * step])); g.lineTo(w, cam.y([0, k * step])); }
  g.stroke();
  if (family !== 'mpe') return;
  g.strokeStyle = ink.line;
  g.lineWidth = 2 * px;
  g.strokeRect(cam.x([-1, 0]), cam.y([0, 1]), 2 * cam.scale, 2 * cam.scale);
}
function bar(g, x, y, w, h, share, hue) {
  g.fillStyle = '#00000073';
  g.fillRect(x, y, w, h);
  g.fillStyle = hue;
  g.fillRect(x, y, w * Math.max(0, Math.min(1, share)), h);
}
function drawShape(c, s, cam) {
  const { g, px } = c, x = cam.x(s.a), y = cam.y(s.a), r = s.radius * cam.scale;
  g.fillStyle = g.strokeStyle = hueOf(s);
  if (s.kind === RECT) {
    const u = cam.x(s.b), v = cam.y(s.b);
    g.globalAlpha = 0.18;
    g.fillRect(Math.min(x, u), Math.min(y, v), Math.abs(u - x), Math.abs(v - y));
    g.globalAlpha = 1;
  } else if (s.kind === CIRCLE) {
    g.beginPath(); g.arc(x, y, Math.max(r, 1), 0, 2 * Math.PI);
    g.fill();
  } else {
    g.lineWidth = s.kind === LINE ? 2 * px : Math.max(2 * r, px);
    g.beginPath(); g.moveTo(x, y); g.lineTo(cam.x(s.b), cam.y(s.b)); g.stroke();
  }
  const w = Math.max(1.4 * r, 14 * px), h = Math.max(0.16 * r, 2.5 * px);
  if (s.health >= 0) bar(g, x - w / 2, y + 0.3 * r, w, h, s.health, s.health > 0.35 ? '#4ade80' : '#fde047');
  if (s.shield >= 0) bar(g, x - w / 2, y + 0.3 * r + h + px, w, h, s.shield, '#7dd3fc');
}
// Seen through the agents that stand on it.
function drawTarget(c, s, cam) {
  const { g, px } = c, x = cam.x(s.a), y = cam.y(s.a), r = s.radius * cam.scale;
  g.strokeStyle = ink.ink; g.lineWidth = 1.5 * px;
  g.beginPath(); g.arc(x, y, r, 0, 2 * Math.PI);
  g.moveTo(x - 1.5 * r, y); g.lineTo(x + 1.5 * r, y); g.moveTo(x, y - 1.5 * r); g.lineTo(x, y + 1.5 * r);
  g.stroke();
}
// Above everything, set off against the lines that begin there.
function drawLabel(c, s, cam) {
  const { g, px } = c, r = s.radius * cam.scale;
  if (s.kind !== CIRCLE || s.id < 0 || r <= 6 * px || (s.role !== 'agent' && s.role !== 'enemy')) return;
  const text = (s.role === 'enemy' ? 'e' : '') + s.id, x = cam.x(s.a), y = cam.y(s.a) - (s.health >= 0 ? 0.3 * r : 0);
  g.font = '600 ' + Math.min(r, 13 * px) + 'px system-ui, sans-serif';
  g.textAlign = 'center'; g.textBaseline = 'middle';
  g.strokeStyle = hueOf(s); g.lineWidth = 4 * px; g.strokeText(text, x, y);
  g.fillStyle = '#ffffff'; g.fillText(text, x, y);
}
function drawWay(g, points, cam, lane) {
  g.beginPath();
  for (let i = 0; i + 1 < points.length; i += 2) {
    const p = [points[i], points[i + 1] + lane];
    if (i) g.lineTo(cam.x(p), cam.y(p)); else g.moveTo(cam.x(p), cam.y(p));
  }
  g.stroke();
}

// A single place, as the Ant's, is drawn side by side for all candidates, to tell them apart.
const laneOf = (d, k) => d.paths[k].length === 1 ? 0.07 * (k - 0.5 * (d.paths.length - 1)) : 0;

// look: the candidates that are looked at; the others step back.
function drawPaths(c, d, cam, look) {
  const { g, px } = c, top = k => look.includes(k) ? 2 : k === d.chosen ? 1 : 0;
  for (const k of d.paths.map((p, k) => k).sort((p, q) => top(p) - top(q))) {
    g.globalAlpha = top(k) || !look.length ? 1 : 0.25;
    for (const way of d.paths[k]) {
      if (top(k)) { g.strokeStyle = top(k) === 2 ? ink.accent : ink.ink; g.lineWidth = 5.5 * px; drawWay(g, way, cam, laneOf(d, k)); }
      g.strokeStyle = ramp(rank(d, k));
      g.lineWidth = (top(k) ? 3 : 1.5) * px;
      drawWay(g, way, cam, laneOf(d, k));
    }
  }
  g.globalAlpha = 1;
  if (!look.length && d.weights.some(x => x > 0)) { // what is executed
    g.strokeStyle = ink.ink; g.lineWidth = 2 * px; g.setLineDash([5 * px, 4 * px]);
    d.paths[0].forEach((first, place) =>
      drawWay(g, first.map((_, i) => d.paths.reduce((sum, ways, k) => sum + d.weights[k] * ways[place][i], 0)), cam, 0));
    g.setLineDash([]);
  }
}
// The candidate whose way is nearest to a place in the world, if it is near enough; else -1.
export function nearest(d, [x, y], limit) {
  let best = -1, least = limit;
  d.paths.forEach((ways, k) => ways.forEach(way => {
    for (let i = 2; i + 1 < way.length; i += 2) {
      const [ax, ay, bx, by] = way.slice(i - 2, i + 2).map((v, c) => v + (c % 2 ? laneOf(d, k) : 0));
      const along = ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / ((bx - ax) ** 2 + (by - ay) ** 2 || 1);
      const t = Math.max(0, Math.min(1, along)), away = Math.hypot(ax + (bx - ax) * t - x, ay + (by - ay) * t - y);
      if (away < least) { least = away; best = k; }
    }
  }));
  return best;
}

// view: {box} or {centre, span}; extra: {decision, look, forecast, ring}. Returns the camera, in CSS pixels.
export function drawWorld(canvas, shapes, family, view, extra = {}) {
  const ratio = view.ratio, c = fit(canvas, ratio), cam = camera(c.w, c.h, view), { g, px } = c;
  drawGrid(c, cam, family);
  for (const s of shapes) if (s.role !== 'floor') drawShape(c, s, cam);
  for (const s of shapes) if (s.role === 'landmark') drawTarget(c, s, cam);
  if (extra.forecast && extra.forecast.expected) { // what was expected, dotted, and what came of it
    g.strokeStyle = ink.soft;
    g.lineWidth = 2 * px;
    g.setLineDash([px, 4 * px]);
    for (const way of extra.forecast.expected) drawWay(g, way, cam, 0);
    g.setLineDash([]);
    for (const way of extra.forecast.taken) drawWay(g, way, cam, 0);
  }
  if (extra.decision && extra.decision.paths.length) drawPaths(c, extra.decision, cam, extra.look || []);
  for (const s of shapes) drawLabel(c, s, cam);
  if (extra.ring) {
    const s = extra.ring;
    g.strokeStyle = ink.accent; g.lineWidth = 3 * px; g.setLineDash([4 * px, 4 * px]);
    g.beginPath(); g.arc(cam.x(s.a), cam.y(s.a), s.radius * cam.scale + 5 * px, 0, 2 * Math.PI); g.stroke();
    g.setLineDash([]);
  }
  return { world: (x, y) => cam.world(x * px, y * px), scale: cam.scale / px };
}

/* ---- plots ---- */

// The latest episodes: by how much planning was ahead, upwards, or behind.
export function drawTally(canvas, latest) {
  const { g, w, h, px } = fit(canvas, 0), most = Math.max(1e-9, ...latest.map(([planned, alone]) => Math.abs(planned - alone)));
  const each = Math.min(w / Math.max(latest.length, 1), 14 * px), left = w - each * latest.length, middle = h / 2;
  g.fillStyle = ink.line;
  g.fillRect(0, middle - 0.5 * px, w, px);
  latest.forEach(([planned, alone], i) => {
    const high = (planned - alone) / most * (middle - px);
    g.fillStyle = high >= 0 ? ink.plan : ink.alone;
    g.fillRect(left + (i + 0.15) * each, middle - Math.max(high, 0), 0.7 * each, Math.max(Math.abs(high), px));
  });
}

const short = x => Number(x.toPrecision(3));

// totals: Map of step to [planned, alone]
export function drawReturns(canvas, totals, step, limit) {
  const { g, w, h, px } = fit(canvas, 0), left = 52 * px, right = w - 8 * px, top = 8 * px, bottom = h - 18 * px;
  const all = [...totals.entries()].sort((a, b) => a[0] - b[0]), values = all.flatMap(e => e[1]).filter(x => x !== null);
  const low = Math.min(0, ...values), high = Math.max(0, ...values, low + 1e-6), end = Math.max(1, Math.min(limit, Math.max(25, ...all.map(e => e[0]))));
  const X = t => left + (right - left) * t / end, Y = v => bottom - (bottom - top) * (v - low) / (high - low);
  g.font = 11 * px + 'px system-ui, sans-serif';
  g.fillStyle = ink.soft; g.strokeStyle = ink.line; g.lineWidth = px; g.textAlign = 'right'; g.textBaseline = 'middle';
  for (const v of [low, high]) {
    g.fillText(short(v), left - 6 * px, Y(v));
    g.beginPath(); g.moveTo(left, Y(v)); g.lineTo(right, Y(v)); g.stroke();
  }
  for (const side of [1, 0]) {
    g.strokeStyle = side ? ink.alone : ink.plan; g.lineWidth = 2.2 * px; g.setLineDash(side ? [5 * px, 4 * px] : []);
    g.beginPath();
    all.forEach((e, i) => i ? g.lineTo(X(e[0]), Y(e[1][side])) : g.moveTo(X(e[0]), Y(e[1][side])));
    g.stroke();
  }
  g.setLineDash([]);
  g.strokeStyle = ink.ink; g.lineWidth = px;
  g.beginPath(); g.moveTo(X(step), top); g.lineTo(X(step), bottom); g.stroke();
  g.fillText('step ' + step, Math.max(left + 40 * px, Math.min(right, X(step))), h - 7 * px);
}

// Bars: error of what was expected h steps ago; lines: error of expecting no change.
export function drawForecast(canvas, f) {
  const { g, w, h, px } = fit(canvas, 0), left = 52 * px, bottom = h - 18 * px, top = 8 * px, n = Math.max(f.errors.length, 4);
  const high = Math.max(1e-6, ...f.errors, ...f.still), each = (w - left - 8 * px) / n, Y = v => bottom - (bottom - top) * v / high;
  g.font = 11 * px + 'px system-ui, sans-serif';
  g.fillStyle = ink.soft; g.textAlign = 'right'; g.textBaseline = 'middle';
  g.fillText(short(high), left - 6 * px, top + 4 * px);
  g.fillText('0', left - 6 * px, bottom);
  g.textAlign = 'center';
  f.errors.forEach((e, i) => {
    const x = left + each * i, y = Y(f.still[i]);
    g.fillStyle = ink.plan;
    g.fillRect(x + 0.2 * each, Y(e), 0.6 * each, bottom - Y(e));
    g.strokeStyle = ink.ink; g.lineWidth = 2 * px;
    g.beginPath(); g.moveTo(x + 0.08 * each, y); g.lineTo(x + 0.92 * each, y); g.stroke();
    g.fillStyle = ink.soft;
    if (n <= 16 || i % 4 === 0) g.fillText(i + 1, x + each / 2, h - 7 * px);
  });
}

// routes: Map of step to [agent][expert]; a column per step, a row per agent and expert.
export function drawRoutes(canvas, routes, step, agents, experts) {
  const most = Math.max(1e-6, ...[...routes.values()].flat(2)), rows = agents * experts, { g, w, h, px } = fit(canvas, 0), left = 30 * px, gap = 2 * px;
  const steps = [...routes.keys()], end = Math.max(25, ...steps) + 1, first = Math.max(0, Math.min(end - 200, step - 100));
  const width = (w - left) / Math.min(end - first, 200), height = (h - gap * (agents - 1)) / rows;
  g.font = 11 * px + 'px system-ui, sans-serif'; g.textAlign = 'left'; g.textBaseline = 'middle';
  for (let a = 0; a < agents; a++) {
    const top = a * (experts * height + gap);
    g.fillStyle = agentHue(a);
    g.fillRect(left - 10 * px, top, 5 * px, experts * height);
    g.fillStyle = ink.soft;
    g.fillText(a, 2 * px, top + experts * height / 2);
    for (const [t, mass] of routes) {
      if (t < first || t >= first + 200 || !mass[a]) continue;
      for (let e = 0; e < experts; e++) {
        g.fillStyle = ramp(mass[a][e] / most);
        g.fillRect(left + (t - first) * width, top + e * height, Math.ceil(width), Math.ceil(height));
      }
    }
  }
  g.strokeStyle = ink.ink; g.lineWidth = 1.5 * px;
  g.strokeRect(left + (step - first) * width, 0.75 * px, width, h - 1.5 * px);
}

// One observation as a row of cells, by rank of size within [-1, 1] after squashing.
export function drawSeen(canvas, obs) {
  const { g, w, h } = fit(canvas, 0), each = w / obs.length;
  obs.forEach((v, i) => {
    g.fillStyle = ramp(0.5 + 0.5 * Math.tanh(v));
    g.fillRect(i * each, 0, Math.ceil(each), h);
  });
}
