'use strict';
/* ---- data: a shape is [kind, role, id, radius, health, shield, ax, ay, az, bx, by, bz] ---- */
const data = JSON.parse(document.getElementById('data').textContent);
const CIRCLE = 0, CAPSULE = 1, LINE = 2, RECT = 3;
const $ = id => document.getElementById(id);
function frameOf(f, roles) {
  const seen = {};
  const shapes = f.shapes.map(v => {
    const role = roles[v[1]], name = v[0] + role + v[2];
    seen[name] = (seen[name] || 0) + 1;
    return { kind: v[0], role: role, id: v[2], radius: v[3], health: v[4], shield: v[5],
      a: [v[6] || 0, v[7] || 0, v[8] || 0], b: [v[9] || 0, v[10] || 0, v[11] || 0], key: name + '/' + seen[name] };
  });
  return { shapes, byKey: new Map(shapes.map(s => [s.key, s])), paths: f.paths || [], scores: f.scores || [],
    weights: f.weights, labels: f.labels || [], chosen: f.chosen };
}
function episodeOf(e) {
  const frames = e.frames.map(f => frameOf(f, e.roles)), rewards = e.rewards;
  const agents = rewards.length ? rewards[0].length : 0, mean = rewards.map(r => r.reduce((x, y) => x + y, 0) / agents);
  const sums = mean.reduce((list, r) => (list.push(list[list.length - 1] + r), list), [0]);
  return { frames, rewards, agents, mean, sums, last: frames.length - 1 };
}
const main = episodeOf(data), alone = data.beside ? episodeOf(data.beside) : null;
const last = Math.max(main.last, alone ? alone.last : 0), follow = data.family === 'ant';
const decided = main.frames.some(f => f.scores.length), drawn = main.frames.some(f => f.paths.length);
const weighed = main.frames.some(f => f.weights);
const frameAt = (e, time) => e.frames[Math.min(Math.floor(time + 1e-6), e.last)];

/* ---- colours: a palette and a scale that the colour-blind can tell apart ---- */
const hues = ['#0072b2', '#cc79a7', '#009e73', '#56b4e9', '#7b4fb5', '#8c6d1f', '#4c78a8', '#b07aa1'];
const fixed = { enemy: '#d55e00', prey: '#e69f00', landmark: '#8a94a3', obstacle: '#6b7686', food: '#2a9d5c',
  forest: '#35a85333', wall: '#8a94a3', attack: '#e6a700', torso: '#475569', floor: '#8a94a3' };
const cividis = [[0, 34, 78], [33, 56, 110], [76, 85, 108], [108, 110, 114], [142, 137, 120], [180, 167, 108],
  [221, 199, 86], [254, 232, 56]];
const dark = matchMedia('(prefers-color-scheme: dark)');
let ink = {};
function readInk() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ['ink', 'soft', 'line', 'grid', 'accent', 'card']) ink[name] = style.getPropertyValue('--' + name).trim();
}
const agentHue = id => hues[(id < 0 ? 0 : id) % hues.length];
function roleHash(role) {
  let h = 7;
  for (const c of role) h = (h * 31 + c.codePointAt(0)) % 360;
  return 'hsl(' + h + ' 55% 52%)';
}
const colour = s => s.role === 'agent' || s.role === 'leg' ? agentHue(s.id) : fixed[s.role] || roleHash(s.role);
/* 0 to 1, dark blue over grey to yellow; the end that would drown in the background is left out. */
function ramp(t) {
  const at = 7 * (dark.matches ? 0.3 + 0.7 * t : 0.92 * t), i = Math.min(6, Math.floor(at));
  return 'rgb(' + cividis[i].map((x, c) => Math.round(mix(x, cividis[i + 1][c], at - i))) + ')';
}
/* A candidate's place between the lowest and the highest score of its step. */
function rank(f, k) {
  const known = f.scores.filter(x => x !== null), low = Math.min(...known), high = Math.max(...known);
  return f.scores[k] !== null && high > low ? (f.scores[k] - low) / (high - low) : 0.5;
}

/* ---- the state at a time between two frames ---- */
const mix = (x, y, t) => x + (y - x) * t;
function shapesAt(e, time) {
  const i = Math.min(Math.floor(time), e.last), t = Math.min(time, e.last) - i, next = e.frames[Math.min(i + 1, e.last)];
  return e.frames[i].shapes.map(s => {
    const n = t > 0 && s.kind !== LINE ? next.byKey.get(s.key) : null;
    if (!n) return s;
    const lerp = (p, q) => p.map((x, c) => mix(x, q[c], t));
    return Object.assign({}, s, { a: lerp(s.a, n.a), b: lerp(s.b, n.b),
      health: mix(s.health, n.health, t), shield: mix(s.shield, n.shield, t) });
  });
}
/* Where the agents (Ant: the torso) really went in the steps that a candidate imagines: a list of [x, y] each. */
function wentFrom(i, steps) {
  const who = main.frames[i].shapes.filter(s => s.role === (follow ? 'torso' : 'agent') && s.kind === CIRCLE);
  return who.map(s => main.frames.slice(i, i + steps + 1).map(f => f.byKey.get(s.key)).filter(s => s).map(s => s.a));
}
/* The mean of the candidates' paths by the weights, one for every place: as lists of [x, y]. */
function meanPaths(f) {
  const places = f.paths.filter(p => p.of === f.paths[0].of).length, out = [];
  for (let k = 0; f.weights && k < places; k++) {
    const mine = f.paths.filter((p, j) => j % places === k), points = [];
    for (let i = 0; i < mine[0].points.length; i += 2)
      points.push([0, 1].map(c => mine.reduce((sum, p) => sum + f.weights[p.of] * p.points[i + c], 0)));
    out.push(points);
  }
  return out;
}
const pairs = flat => flat.reduce((list, x, i) => (i % 2 ? list[list.length - 1].push(x) : list.push([x]), list), []);

/* ---- cameras: still ones see all that ever happens, following ones keep the torso in the middle ---- */
function bounds() {
  const box = data.family === 'mpe' ? [-1, -1, 1, 1] : [Infinity, Infinity, -Infinity, -Infinity];
  for (const f of main.frames.concat(alone ? alone.frames : [])) for (const s of f.shapes)
    if (s.kind !== RECT) for (const p of s.kind === CIRCLE ? [s.a] : [s.a, s.b]) {
      box[0] = Math.min(box[0], p[0] - s.radius); box[1] = Math.min(box[1], p[1] - s.radius);
      box[2] = Math.max(box[2], p[0] + s.radius); box[3] = Math.max(box[3], p[1] + s.radius);
    }
  if (!(box[2] >= box[0])) return [-1, -1, 1, 1];
  const pad = 0.06 * Math.max(box[2] - box[0], box[3] - box[1], 0.1);
  return [box[0] - pad, box[1] - pad, box[2] + pad, box[3] + pad];
}
const box = bounds();
function centre(shapes) {
  const s = shapes.find(q => q.role === 'torso') || shapes.find(q => q.role === 'agent') || shapes[0];
  return s ? (s.kind === CIRCLE ? s.a : s.a.map((x, c) => (x + s.b[c]) / 2)) : [0, 0, 0];
}
function view(canvas, axes, shapes) {
  const w = canvas.width, h = canvas.height;
  if (!follow) {
    const scale = Math.min(w / (box[2] - box[0]), h / (box[3] - box[1]));
    const cx = (box[0] + box[2]) / 2, cy = (box[1] + box[3]) / 2;
    return { scale, u: p => w / 2 + (p[0] - cx) * scale, v: p => h / 2 - (p[1] - cy) * scale, cx, cy };
  }
  const scale = w / 5, c = centre(shapes), side = axes[1] === 2;
  const cx = c[0], cy = side ? h / scale / 2 - 0.25 : c[1];
  return { scale, u: p => w / 2 + (p[0] - cx) * scale, v: p => h / 2 - (p[axes[1]] - cy) * scale, cx, cy };
}
