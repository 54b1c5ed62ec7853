// The live view: takes the stream of steps, shows the newest one, and sends what the visitor asks for. Who plans holds the
// truth, behind link.js; whatever several visitors of a server do, they all see the same two worlds.
import * as draw from './draw.js';
import * as link from './link.js';

const $ = id => document.getElementById(id);
const calm = matchMedia('(prefers-reduced-motion: reduce)'), dark = matchMedia('(prefers-color-scheme: dark)');
let about = null;          // what /about tells, of a version
let frame = null;          // the newest step
let drawn = 0;             // when, for those who want less motion
let asked = false, shown = 0;
let box = null, episode = '';
let totals = new Map(), routes = new Map();
let cameras = {}, held = null, chosenThing = 0;

/* ---- talking with who plans ---- */

function say(text, wrong) {
  $('status').textContent = text;
  $('status').className = wrong ? 'wrong' : '';
}
async function send(command) {
  const { good, text } = await link.send(command);
  say(good ? '' : text, !good);
  return good;
}
async function learn() {
  const wanted = frame ? frame.version : 0;
  if (about && about.wanted === wanted) return;
  about = Object.assign(about || {}, { wanted });
  const told = await link.get('about').catch(e => { about.wanted = null; throw e; }); // asked again with the next step
  const other = !about.bundle || about.bundle !== told.bundle;
  about = Object.assign(told, { wanted });
  if (other) { box = null; totals.clear(); routes.clear(); }
  showAbout();
  remember();
}
async function remember() { // the steps before the visitor came
  const past = await link.get('history');
  if (!frame || past.seed !== frame.seed || past.episode !== frame.episode) return;
  past.steps.forEach((s, i) => {
    totals.set(past.first + i, s.totals);
    if (s.routes) routes.set(past.first + i, s.routes);
  });
  plan();
}

/* ---- what the bundle is, and how it is planned ---- */

function options(select, names, value) {
  select.replaceChildren(...names.map(([name, help]) => {
    const option = document.createElement('option');
    option.value = option.textContent = name;
    option.title = help || '';
    return option;
  }));
  select.value = value;
}
function settingControl(s) {
  const label = document.createElement('label'), words = /^[a-z ,|]+$/.test(s.range) && !s.range.startsWith('any');
  const choices = s.name === 'scorer' ? about.scorers : s.value === 'on' || s.value === 'off' ? ['on', 'off'] :
    words ? s.range.split(/[,| ]+/).filter(w => w !== 'or') : null;
  const control = document.createElement(choices ? 'select' : 'input');
  label.title = s.help + ' (' + s.range + ')';
  label.append((s.symbol || s.name.replace(/_/g, ' ')) + ' ', control);
  if (choices) options(control, choices.map(c => [c]), s.value);
  else { control.type = 'number'; control.step = 'any'; control.value = s.value; }
  control.id = 'set-' + s.name;
  control.onchange = async () => { if (!await send({ do: 'set', name: s.name, value: control.value })) control.value = s.value; };
  return label;
}
function showAbout() {
  document.title = about.task + ' - mawam live';
  $('task').textContent = about.task;
  $('summary').textContent = about.quality + ' - ' + about.summary;
  options($('bundle'), about.bundles.map(b => [b.replace(/[.]safetensors$/, '')]), about.bundle.replace(/[.]safetensors$/, ''));
  options($('arm'), about.arms.map(a => [a.name, a.help]), about.arm);
  $('arm-name').textContent = 'planned (' + about.arm + (about.changed ? ', changed' : '') + ')';
  $('main-settings').replaceChildren(...about.settings.filter(s => s.symbol).map(settingControl));
  $('more-settings').replaceChildren(...about.settings.filter(s => !s.symbol).map(settingControl));
  $('routes-card').hidden = !about.experts;
  $('move-help').hidden = !about.movable;
  for (const id of ['planned', 'alone']) $(id).classList.toggle('movable', about.movable);
  $('routes').style.height = Math.max(60, Math.min(260, about.agents * about.experts * 10)) + 'px';
  const views = [];
  for (let i = 0; i < about.agents; i++) {
    const item = document.createElement('div'), view = document.createElement('canvas'), seen = document.createElement('canvas');
    seen.className = 'seen';
    view.setAttribute('role', 'img');
    view.setAttribute('aria-label', 'view of agent ' + i);
    seen.onpointermove = e => {
      const k = Math.floor(e.offsetX / seen.clientWidth * about.features.length);
      seen.title = about.features[k] + ': ' + (frame.obs[i] || [])[k];
    };
    item.append(view, seen);
    views.push(item);
  }
  $('agents').replaceChildren(...views);
}

/* ---- showing a step ---- */

function showCandidates() {
  const d = frame.decision, list = $('candidates'), known = d.scores.filter(x => x !== null);
  const low = Math.min(...known), high = Math.max(...known);
  list.style.minHeight = Math.min(list.scrollHeight, 340) + 'px'; // the page stays still at the end of an episode
  if (d.scores.length && d.scores.length < list.children.length) list.style.minHeight = '';
  while (list.children.length > d.scores.length) list.lastChild.remove();
  while (list.children.length < d.scores.length) {
    const button = document.createElement('button'), cell = document.createElement('div');
    button.type = 'button';
    cell.append(document.createElement('i'));
    button.append(document.createElement('span'), cell, document.createElement('span'));
    list.append(button);
  }
  d.scores.forEach((score, k) => {
    const [name, cell, value] = list.children[k].children, t = high > low && score !== null ? (score - low) / (high - low) : 0.5;
    name.textContent = k + (d.labels[k] ? ' ' + d.labels[k] : '');
    cell.firstChild.style.width = 4 + 96 * t + '%';
    cell.firstChild.style.background = draw.ramp(t);
    value.textContent = score === null ? '-' : Number(score.toPrecision(4));
    list.children[k].setAttribute('aria-pressed', k === d.chosen);
    list.children[k].onclick = () => force(k);
  });
  $('candidates-label').textContent = !d.scores.length ? 'the episode is over' : d.forced ? 'chosen by hand: ' + d.chosen :
    d.weights.some(x => x > 0) ? 'the best: ' + d.chosen + '; executed: a mean of all by their scores; click one to force it' :
    'chosen: ' + d.chosen + '; click one to force it';
}
const short = x => x === null ? '-' : x.toPrecision(2); // null: not a finite number
function showNumbers() {
  const [planned, alone] = frame.worlds, f = frame.forecast, last = f.errors.length - 1;
  const end = w => w.won ? ' (won)' : w.over ? ' (over)' : '';
  $('planned-total').textContent = planned.total.toFixed(2) + end(planned);
  $('alone-total').textContent = alone.total.toFixed(2) + end(alone);
  $('planned-ms').textContent = planned.ms.toFixed(1);
  $('alone-ms').textContent = alone.ms.toFixed(1);
  $('play').textContent = frame.playing ? 'Pause' : 'Play';
  $('time').min = frame.first;
  $('time').max = Math.max(frame.last, frame.step);
  if (document.activeElement !== $('time') || !held) $('time').value = frame.step;
  $('clock').textContent = 'step ' + frame.step + ' / ' + about.limit;
  if (document.activeElement !== $('seed')) $('seed').value = frame.seed;
  if (document.activeElement !== $('rate')) $('rate').value = frame.rate;
  $('forecast-label').textContent = last < 0 ? 'nothing was expected yet' : 'error ' + (last + 1) + ' steps ahead ' +
    short(f.errors[last]) + '; expecting no change ' + short(f.still[last]) + ' (lines)';
  if (frame.notice) say(frame.notice, true);
}
function showWorlds() {
  const family = about.family, follow = family === 'ant', shapes = frame.worlds.map(w => w.shapes.map(draw.shapeOf));
  if (!follow) shapes.forEach(s => { box = draw.growBox(box, s, family); });
  const ratio = follow ? 0.6 : Math.max(0.4, Math.min(1, (box[3] - box[1]) / (box[2] - box[0])));
  ['planned', 'alone'].forEach((id, i) => {
    const view = follow ? { centre: draw.centreOf(shapes[i]), span: 3.5, ratio } : { box, ratio };
    const mine = shapes[i].map(s => held && held.role === s.role && held.id === s.id && held.a ? Object.assign({}, s, { a: held.a }) : s);
    const ring = i === 0 && about.movable && document.activeElement === $(id) ? mine[chosenThing % mine.length] : null;
    cameras[id] = Object.assign(draw.drawWorld($(id), mine, family, view,
      i === 0 ? { decision: frame.decision, forecast: frame.forecast, ring } : {}), { shapes: mine });
  });
  [...$('agents').children].forEach((item, i) => {
    const own = shapes[0].find(s => (s.role === 'agent' || s.role === 'leg') && s.id === i), span = family === 'mpe' ? 1.6 : follow ? 2.5 : 18;
    item.hidden = !own;
    if (!own) return;
    draw.drawWorld(item.children[0], shapes[0], family, { centre: own.a, span }, { decision: frame.decision });
    draw.drawSeen(item.children[1], frame.obs[i]);
  });
}
function show() {
  asked = false;
  if (!frame || !about || !about.settings) return;
  drawn = performance.now();
  showNumbers();
  showCandidates();
  showWorlds();
  draw.drawReturns($('returns'), totals, frame.step, about.limit);
  draw.drawForecast($('forecast'), frame.forecast);
  if (about.experts) draw.drawRoutes($('routes'), routes, frame.step, about.agents, about.experts);
  document.body.dataset.shown = ++shown;
  Object.assign(document.body.dataset, { seed: frame.seed, episode: frame.episode, step: frame.step });
}
// The newest step is shown with the next picture of the screen; those who want less motion get two a second.
function plan() {
  if (asked) return;
  asked = true;
  const wait = calm.matches && frame && frame.playing ? Math.max(0, 500 - (performance.now() - drawn)) : 0;
  setTimeout(() => requestAnimationFrame(show), wait);
}
function take(text) {
  const fresh = !frame;
  frame = JSON.parse(text);
  const name = frame.seed + '/' + frame.episode;
  if (name !== episode || frame.last < Math.max(-1, ...totals.keys())) {
    for (const map of [totals, routes]) for (const t of map.keys()) if (name !== episode || t > frame.last) map.delete(t);
    if (name !== episode) box = null;
    episode = name;
  }
  totals.set(frame.step, frame.worlds.map(w => w.total));
  if (frame.routes) routes.set(frame.step, frame.routes);
  learn().then(plan, e => say(e.message, true));
  if (fresh && !calm.matches && !frame.playing && frame.step === 0 && frame.episode === 0) send({ do: 'play' });
}

/* ---- taking a hand ---- */

const force = k => frame && k < frame.decision.scores.length && send({ do: 'force', step: frame.step, candidate: k });
const setPlaying = on => send({ do: on ? 'play' : 'pause' });
const seek = step => frame && step >= frame.first && step <= frame.last && send({ do: 'seek', step });
const begin = seed => send({ do: 'begin', seed });
const randomSeed = () => begin(Math.floor(Math.random() * 1000000));
async function save() {
  const file = document.createElement('a');
  file.href = await link.recording();
  file.download = about.task + '-' + frame.seed + '-' + frame.episode + '.html';
  file.click();
  say('The replay of this episode is saved as ' + file.download + '.');
}
function changeRate(by) {
  const s = $('rate');
  s.selectedIndex = Math.max(0, Math.min(s.options.length - 1, s.selectedIndex + by));
  send({ do: 'rate', value: Number(s.value) });
}
function place(thing, a) {
  const at = a.map(x => Math.max(-2, Math.min(2, x)));
  return send({ do: 'place', step: thing.step, role: thing.role, id: thing.id, x: at[0], y: at[1] });
}
function drag(id) {
  const canvas = $(id), where = e => cameras[id].world(e.offsetX, e.offsetY);
  canvas.onpointerdown = e => {
    if (!about || !about.movable || !cameras[id]) return;
    const p = where(e), near = s => Math.hypot(s.a[0] - p[0], s.a[1] - p[1]) - s.radius - 6 / cameras[id].scale;
    const thing = cameras[id].shapes.filter(s => near(s) < 0).sort((s, t) => s.radius - t.radius)[0];
    if (!thing) return;
    held = { role: thing.role, id: thing.id, step: frame.step, playing: frame.playing };
    canvas.setPointerCapture(e.pointerId);
    if (held.playing) setPlaying(false);
  };
  canvas.onpointermove = e => { if (held) { held.a = where(e); plan(); } };
  canvas.onpointerup = canvas.onpointercancel = async e => {
    const thing = held;
    if (!thing) return;
    if (e.type === 'pointerup' && thing.a) await place(thing, thing.a);
    held = null;
    if (thing.playing) setPlaying(true);
    plan();
  };
}
const arrows = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, 0.1], ArrowDown: [0, -0.1] };
function moveByKey(e) {
  const things = cameras.planned ? cameras.planned.shapes : [], thing = things[chosenThing % (things.length || 1)], by = arrows[e.key];
  if (!about || !about.movable || !thing) return false;
  if (e.key === '[' || e.key === ']') {
    chosenThing = (chosenThing + things.length + (e.key === ']' ? 1 : -1)) % things.length;
    say('chosen: ' + things[chosenThing].role + ' ' + things[chosenThing].id);
    plan();
  } else if (by && e.shiftKey) {
    place(Object.assign({ step: frame.step }, { role: thing.role, id: thing.id }), [thing.a[0] + by[0], thing.a[1] + by[1]]);
  } else return false;
  return true;
}
addEventListener('keydown', e => {
  if (e.ctrlKey || e.metaKey || e.altKey || !frame || /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName)) return;
  if (e.key === ' ' && /^(BUTTON|SUMMARY)$/.test(e.target.tagName)) return;
  const keys = { ' ': () => setPlaying(!frame.playing), ArrowRight: () => send({ do: 'step' }), ArrowLeft: () => seek(frame.step - 1),
    ArrowUp: () => changeRate(1), ArrowDown: () => changeRate(-1), n: randomSeed, r: save };
  if (e.target === $('planned') && moveByKey(e)) e.preventDefault();
  else if (/^[0-9]$/.test(e.key)) force(Number(e.key));
  else if (keys[e.key] && !e.shiftKey) { e.preventDefault(); keys[e.key](); }
});

$('play').onclick = () => frame && setPlaying(!frame.playing);
$('step').onclick = () => send({ do: 'step' });
$('back').onclick = () => frame && seek(frame.step - 1);
$('time').oninput = e => seek(Number(e.target.value));
$('rate').onchange = e => send({ do: 'rate', value: Number(e.target.value) });
// A seed that was typed begins when its field is left, which pressing the button does: the press is not another wish.
let typed = false;
$('begin').onpointerdown = () => { typed = frame && Number($('seed').value) !== frame.seed; };
$('begin').onclick = () => {
  if (frame && !typed) Number($('seed').value) === frame.seed ? randomSeed() : begin(Number($('seed').value));
  typed = false;
};
$('seed').onchange = e => begin(Number(e.target.value));
$('record').onclick = () => frame && about && save();
$('arm').onchange = async e => { if (!await send({ do: 'arm', name: e.target.value })) e.target.value = about.arm; };
$('bundle').onchange = async e => {
  say('loading ' + e.target.value);
  if (!await send({ do: 'bundle', name: e.target.value + '.safetensors' })) e.target.value = about.bundle.replace(/[.]safetensors$/, '');
};
for (const id of ['planned', 'alone']) drag(id);
for (const type of ['focus', 'blur']) $('planned').addEventListener(type, () => plan());
addEventListener('resize', () => plan());
dark.addEventListener('change', () => { draw.readInk(); plan(); });

draw.readInk();
link.listen(take, () => { // once more after a silence: it may be another program, with another bundle
  say('');
  if (about) about.wanted = null;
}, why => say(why, true));
