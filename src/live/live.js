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
let cameras = {}, dragged = null, chosenThing = 0;
let hovered = -1, held = null; // candidates: under the pointer; {k, of}, of the step where it was clicked

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
  if (other) { box = null; totals.clear(); routes.clear(); roles.clear(); }
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

// Candidates whose first joint actions are the same, in words, are one row; its bar is the best of them.
function groupsOf(d) {
  const groups = new Map();
  d.scores.forEach((_, k) => {
    const name = d.labels[k] || k;
    groups.set(name, [...(groups.get(name) || []), k]);
  });
  return [...groups.values()];
}
const stepName = () => [frame.seed, frame.episode, frame.step].join('/');
const heldNow = () => held && held.of === stepName() ? held.k : -1;
const looked = () => hovered >= 0 ? hovered : heldNow();
const groupWith = k => groupsOf(frame.decision).find(group => group.includes(k)) || [];
const round = x => x === null ? '-' : String(Number(x.toPrecision(4)));

function showCandidates() {
  const d = frame.decision, list = $('candidates'), groups = groupsOf(d), look = groupWith(looked());
  while (list.children.length > groups.length) list.lastChild.remove();
  while (list.children.length < groups.length) {
    const button = document.createElement('button'), cell = document.createElement('div');
    button.type = 'button';
    cell.append(document.createElement('i'));
    button.append(document.createElement('span'), cell, document.createElement('span'));
    list.append(button);
  }
  list.classList.toggle('named', d.labels.length > 0);
  groups.forEach((group, i) => {
    const row = list.children[i], [name, cell, value] = row.children;
    const best = group.includes(d.chosen) ? d.chosen : group.reduce((p, q) => (d.scores[q] ?? -Infinity) > (d.scores[p] ?? -Infinity) ? q : p);
    name.textContent = best + (d.labels[best] ? ' ' + d.labels[best] : '') + (group.length > 1 ? ' \u00d7' + group.length : '');
    cell.firstChild.style.width = 4 + 96 * draw.rank(d, best) + '%';
    cell.firstChild.style.background = draw.ramp(draw.rank(d, best));
    value.textContent = round(d.scores[best]);
    row.classList.toggle('chosen', group.includes(d.chosen));
    row.classList.toggle('looked', look === group || look.includes(best));
    row.setAttribute('aria-pressed', group.includes(heldNow()));
    row.onpointerenter = row.onfocus = () => lookAt(best);
    row.onpointerleave = row.onblur = () => lookAt(-1);
    row.onclick = () => hold(best);
  });
  $('candidates-label').textContent = describeChoice(d, looked());
  $('force').textContent = heldNow() >= 0 ? 'Force candidate ' + heldNow() : 'Force it';
  $('force').disabled = heldNow() < 0 || d.forced && heldNow() === d.chosen;
}
function describeChoice(d, k) {
  if (!d.scores.length) return 'the episode is over';
  if (k >= 0 && k < d.scores.length) {
    const best = Math.max(...d.scores.filter(x => x !== null)), score = d.scores[k];
    return 'candidate ' + k + ': score ' + round(score) + (score === best ? ', the best' : score === null ? '' : ', ' + round(best - score) + ' below the best');
  }
  if (d.forced) return 'chosen by hand: ' + d.chosen;
  return d.weights.some(x => x > 0) ? 'the best: ' + d.chosen + '; executed: the mean of all, weighted by their scores' : 'chosen: ' + d.chosen;
}

/* ---- who is ahead ---- */

const signed = x => (x < 0 ? '\u2212' : '+') + Math.abs(x);
// As evaluations say it, over the size of the policy's own return; where that is next to nothing, both returns.
function gainOf(planned, alone) {
  const share = 100 * (planned - alone) / Math.abs(alone);
  if (Math.abs(share) < 0.05) return '\u00b10%';
  if (Math.abs(share) <= 300) return signed(Number(share.toFixed(Math.abs(share) < 10 ? 1 : 0))) + '%';
  return 'return ' + round(planned) + ' against ' + round(alone);
}
function showScore() {
  const t = frame.tally, [planned, alone] = frame.worlds, lead = planned.total - alone.total;
  $('headline').textContent = 'Same policy, same world: ' + (!t.episodes ? 'the first episode is being played' :
    'planning ahead in ' + t.ahead + ' of ' + t.episodes + (t.episodes === 1 ? ' episode' : ' episodes') +
    (t.level ? ', level in ' + t.level : '') + ', ' + gainOf(t.planned, t.alone));
  $('now').textContent = (frame.over ? 'This episode: ' : 'This episode so far: ') + (lead === 0 ? 'level' :
    'planning ' + (lead > 0 ? 'leads' : 'is behind') + ' by ' + Math.abs(lead).toFixed(1)) +
    ' (' + planned.total.toFixed(1) + ' against ' + alone.total.toFixed(1) + ')' +
    (frame.handled ? '; not counted: by hand' : '');
  const value = name => (about.settings.find(s => s.name === name) || {}).value;
  $('idea').textContent = 'Left: before every step ' + value('candidates') + ' futures of ' + value('horizon') +
    ' steps are imagined and scored, and the scores decide what is done. Right: the first that comes is done, unscored.';
  draw.drawTally($('tally'), t.latest);
}

/* ---- what is drawn ---- */

let legend = '';
const roles = new Map(); // what has been there so far, with its colour
function showLegend() {
  const d = frame.decision, entries = [];
  for (const s of frame.worlds[0].shapes.map(draw.shapeOf)) if (!/^(leg|floor)$/.test(s.role) && !roles.has(s.role)) roles.set(s.role, draw.hueOf(s));
  if (!d.scores.length) return; // as it was
  if (d.paths.length) {
    entries.push(['ramp', 'imagined, from low score to high'], ['chosen', 'chosen']);
    if (d.weights.some(x => x > 0)) entries.push(['mean', 'executed']);
    entries.push(['expected', 'expected ' + d.horizon + ' steps ago'], ['came', 'what came of it']);
  }
  for (const [role, hue] of roles) entries.push([role === 'landmark' ? 'target' : 'disc', role, hue]);
  if (JSON.stringify(entries) + dark.matches === legend) return;
  legend = JSON.stringify(entries) + dark.matches;
  $('legend').replaceChildren(...entries.map(([kind, words, hue]) => {
    const item = document.createElement('li'), mark = document.createElement('i');
    mark.className = kind;
    if (kind === 'ramp') mark.style.background = 'linear-gradient(90deg, ' + [0, 0.25, 0.5, 0.75, 1].map(draw.ramp).join(',') + ')';
    if (kind === 'chosen') mark.style.background = draw.ramp(1);
    if (hue) mark.style.background = hue;
    item.append(mark, words);
    return item;
  }));
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
  $('time').max = about.limit;
  if (document.activeElement !== $('time') || !dragged) $('time').value = frame.step;
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
  const look = groupWith(looked());
  const ratio = follow ? 0.6 : Math.max(0.4, Math.min(1, (box[3] - box[1]) / (box[2] - box[0])));
  ['planned', 'alone'].forEach((id, i) => {
    const view = follow ? { centre: draw.centreOf(shapes[i]), span: 3.5, ratio } : { box, ratio };
    const mine = shapes[i].map(s => dragged && dragged.role === s.role && dragged.id === s.id && dragged.a ? Object.assign({}, s, { a: dragged.a }) : s);
    const ring = i === 0 && about.movable && document.activeElement === $(id) ? mine[chosenThing % mine.length] : null;
    cameras[id] = Object.assign(draw.drawWorld($(id), mine, family, view,
      i === 0 ? { decision: frame.decision, look, forecast: frame.forecast, ring } : {}), { shapes: mine });
  });
  [...$('agents').children].forEach((item, i) => {
    const own = shapes[0].find(s => (s.role === 'agent' || s.role === 'leg') && s.id === i), span = family === 'mpe' ? 1.6 : follow ? 2.5 : 18;
    item.hidden = !own;
    if (!own) return;
    draw.drawWorld(item.children[0], shapes[0], family, { centre: own.a, span }, { decision: frame.decision, look });
    draw.drawSeen(item.children[1], frame.obs[i]);
  });
}
function show() {
  asked = false;
  if (!frame || !about || !about.settings) return;
  drawn = performance.now();
  if (!frame.playing && heldNow() < 0) held = null; // steps may still come before play stops
  showNumbers();
  showScore();
  showCandidates();
  showLegend();
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

function lookAt(k) {
  if (hovered === k) return;
  hovered = k;
  plan();
}
// It stays in sight until it is let go or another step comes; so play stops, at the step that was looked at.
function hold(k) {
  if (!frame || k >= frame.decision.scores.length) return;
  held = k < 0 || heldNow() === k ? null : { k, of: stepName() };
  if (held && frame.playing) send({ do: 'seek', step: frame.step });
  plan();
}
async function force() {
  if (!frame || heldNow() < 0) return;
  const k = heldNow();
  held = null;
  await send({ do: 'force', step: frame.step, candidate: k });
  plan();
}
const setPlaying = on => send({ do: on ? 'play' : 'pause' });
const seek = step => frame && step >= frame.first && step <= frame.last && send({ do: 'seek', step });
const seekNear = step => frame && seek(Math.max(frame.first, Math.min(frame.last, step)));
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
const onPath = (id, e) => id !== 'planned' || !frame || !cameras[id] ? -1 :
  draw.nearest(frame.decision, cameras[id].world(e.offsetX, e.offsetY), 8 / cameras[id].scale);
function drag(id) {
  const canvas = $(id), where = e => cameras[id].world(e.offsetX, e.offsetY);
  canvas.onpointerdown = e => {
    if (!about || !cameras[id]) return;
    const p = where(e), near = s => Math.hypot(s.a[0] - p[0], s.a[1] - p[1]) - s.radius - 6 / cameras[id].scale;
    const thing = about.movable && cameras[id].shapes.filter(s => near(s) < 0).sort((s, t) => s.radius - t.radius)[0];
    if (!thing) return onPath(id, e) >= 0 ? hold(onPath(id, e)) : undefined;
    dragged = { role: thing.role, id: thing.id, step: frame.step, playing: frame.playing };
    canvas.setPointerCapture(e.pointerId);
    if (dragged.playing) setPlaying(false);
  };
  canvas.onpointermove = e => {
    if (!dragged) return lookAt(onPath(id, e));
    dragged.a = where(e);
    plan();
  };
  canvas.onpointerleave = () => dragged || lookAt(-1);
  canvas.onpointerup = canvas.onpointercancel = async e => {
    const thing = dragged;
    if (!thing) return;
    if (e.type === 'pointerup' && thing.a) await place(thing, thing.a);
    dragged = null;
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
    ArrowUp: () => changeRate(1), ArrowDown: () => changeRate(-1), n: randomSeed, r: save,
    f: force, Escape: () => hold(-1) };
  if (e.target === $('planned') && moveByKey(e)) e.preventDefault();
  else if (/^[0-9]$/.test(e.key)) hold(Number(e.key));
  else if (keys[e.key] && !e.shiftKey) { e.preventDefault(); keys[e.key](); }
});

$('play').onclick = () => frame && setPlaying(!frame.playing);
$('step').onclick = () => send({ do: 'step' });
$('back').onclick = () => frame && seek(frame.step - 1);
$('time').oninput = e => seekNear(Number(e.target.value));
$('rate').onchange = e => send({ do: 'rate', value: Number(e.target.value) });
// A seed that was typed begins when its field is left, which pressing the button does: the press is not another wish.
let typed = false;
$('begin').onpointerdown = () => { typed = frame && Number($('seed').value) !== frame.seed; };
$('begin').onclick = () => {
  if (frame && !typed) Number($('seed').value) === frame.seed ? randomSeed() : begin(Number($('seed').value));
  typed = false;
};
$('seed').onchange = e => begin(Number(e.target.value));
$('force').onclick = force;
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
