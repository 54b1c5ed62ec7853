// The live view in a real browser: opens, plays, is changed, forced, dragged, recorded, reloaded and visited by ten at once.
// What is compared is what the page shows, elements and numbers, never pixels.
// usage: node browser.mjs PROGRAM CHROMIUM BUNDLE [FOLDER-FOR-PICTURES]
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Chromium } from './chromium.mjs';

const [program, chromium, bundle, pictures] = process.argv.slice(2);
const sleep = milliseconds => new Promise(resolve => setTimeout(resolve, milliseconds));

/* ---- the program, and its stream as another visitor sees it ---- */

const live = spawn(program, ['live', bundle, '--port', '0', '--no-open', '--threads', '1'], { stdio: ['ignore', 'pipe', 'inherit'] });
const url = await new Promise((resolve, reject) => {
  let text = '';
  live.stdout.on('data', piece => { if ((text += piece).includes('\n')) resolve(text.trim()); });
  live.on('exit', code => reject(new Error('mawam live ended with ' + code)));
});

function visit(take) {
  let rest = '';
  const request = http.get(url + 'events', reply => {
    reply.on('data', piece => {
      const parts = (rest + piece).split('\n\n');
      rest = parts.pop();
      for (const part of parts) if (part.startsWith('data: ')) take(JSON.parse(part.slice(6)));
    });
    reply.on('error', () => {});
  });
  request.on('error', () => {});
  return request;
}
const state = () => new Promise(resolve => {
  const request = visit(frame => { request.destroy(); resolve(frame); });
});
async function decided() { // the next step that is not the end of an episode
  for (;;) {
    const frame = await state();
    if (frame.decision.scores.length) return frame;
    await sleep(50);
  }
}
const text = id => `document.getElementById('${id}').textContent`;
const choose = (id, value) => `(() => { const e = document.getElementById('${id}'); e.value = '${value}';
  e.dispatchEvent(new Event('input', { bubbles: true })); e.dispatchEvent(new Event('change', { bubbles: true })); return true; })()`;
const click = selector => `document.querySelector('${selector}').click()`;
const count = `document.getElementById('candidates').children.length`;
const inked = id => `(() => { const c = document.getElementById('${id}'), d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
  let n = 0; for (let i = 3; i < d.length; i += 4) n += d[i] > 0; return n > 200; })()`;

/* ---- the visit ---- */

async function opensAndPlays(page) {
  await page.until(`document.body.dataset.shown > 3 && document.body.dataset.step > 2`);
  assert.equal(await page.see(text('task')), 'spread');
  assert.equal(await page.see(count), 8);
  for (const id of ['planned', 'alone', 'returns', 'forecast', 'routes']) assert.ok(await page.see(inked(id)), id + ' is empty');
  assert.equal(await page.see(`document.querySelectorAll('#agents canvas').length`), 6);
  assert.match(await page.see(text('planned-ms')), /^[0-9.]+$/);
  assert.match(await page.see(text('planned-total')), /^-?[0-9.]+/);
  const frame = await decided();
  assert.equal(frame.worlds.length, 2);
  assert.equal(frame.decision.paths.length, 8);
  assert.equal(frame.decision.paths[0].length, 3);
  assert.ok(frame.decision.scores.every(Number.isFinite));
  assert.ok(frame.routes.every(r => Math.abs(r.reduce((x, y) => x + y) - 1) < 1e-2));
}

// While an episode runs; between two the page rests for a second.
async function fast(page, name) {
  await page.see(choose('rate', 60));
  const before = Number(await page.see(`document.body.dataset.shown`)), times = [];
  await page.see(`(() => { window.shownAt = []; new MutationObserver(() => shownAt.push(performance.now())).observe(document.body, {attributeFilter: ['data-shown']}); })()`);
  const request = visit(frame => { if (frame.worlds[0].ms > 0) times.push(frame.worlds[0].ms); });
  await sleep(4000);
  request.destroy();
  const median = list => list.sort((a, b) => a - b)[list.length >> 1];
  const between = await page.see(`shownAt.slice(1).map((t, i) => t - shownAt[i])`);
  if (times.length && between.length)
    console.log(`${name}: ${(1000 / median(between)).toFixed(1)} decisions a second on screen, median ${median(times).toFixed(1)} ms each`);
  await page.until(`document.body.dataset.shown > ${before + 1}`); // how fast is the machine's affair: docs/live.md
}

async function isChanged(page) {
  await page.see(choose('set-candidates', 4));
  await page.until(count + ' === 4');
  await page.see(choose('set-horizon', 3));
  await page.until(`${count} === 4 && document.getElementById('set-horizon').value === '3'`);
  await page.see(choose('arm', 'paper'));
  await page.until(`${text('arm-name')}.includes('paper')`);
  assert.equal((await decided()).decision.horizon, 3);
  await page.see(choose('set-horizon', 99));
  await page.until(`document.getElementById('status').className === 'wrong' && ${text('status')}.includes('horizon')`);
  await page.see(choose('set-candidates', 8));
  await page.see(choose('arm', 'plan'));
  await page.until(`${count} === 8 && ${text('arm-name')}.includes('plan, changed)')`); // the horizon stays
}

async function isPausedAndScrubbed(page) {
  await page.see(choose('rate', 10));
  await page.see(choose('seed', 77));
  await page.until(`document.body.dataset.seed == 77 && document.body.dataset.step > 6`);
  await page.see(`document.activeElement.blur()`);
  await page.key(' ');
  await page.until(text('play') + ` === 'Play'`);
  const { step, decision } = await state();
  await sleep(300);
  assert.equal((await state()).step, step);
  await page.key('ArrowLeft');
  await page.until(`document.body.dataset.step == ${step - 1}`);
  await page.see(choose('time', 2));
  await page.until(`document.body.dataset.step == 2`);
  await page.see(choose('time', step));
  await page.until(`document.body.dataset.step == ${step}`);
  assert.deepEqual((await state()).decision.scores, decision.scores, 'the same decision again');
  await picture(page, 'spread');
  await page.key('ArrowRight');
  await page.until(`document.body.dataset.step == ${step + 1}`);
}

// A typed seed begins when the mouse takes the field's place, and stays when it lets go of the button.
async function isBegun(page) {
  const [x, y] = await page.see(`(() => { const r = document.getElementById('begin').getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()`);
  const mouse = type => page.call('Input.dispatchMouseEvent', { type, x, y, button: 'left', buttons: type === 'mousePressed' ? 1 : 0, clickCount: 1 });
  await page.see(`document.getElementById('seed').focus(); document.getElementById('seed').select()`);
  await page.key('8');
  await mouse('mousePressed');
  await page.until(`document.body.dataset.seed == 8`);
  await mouse('mouseReleased');
  await sleep(300);
  assert.equal(await page.see(`document.body.dataset.seed`), '8');
  await mouse('mousePressed');
  await mouse('mouseReleased');
  await page.until(`document.body.dataset.seed != 8`);
}

const middle = selector => `(() => { const e = document.querySelector('${selector}'); e.scrollIntoView({ block: 'nearest' });
  const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()`;
const row = k => `#candidates button:nth-child(${k + 1})`;
const painted = `document.getElementById('planned').toDataURL()`;

// Pointing shows one future, a click keeps it in sight and stops play there, and only the button decides.
async function isLookedAtHeldAndForced(page) {
  const before = await state(), other = (before.decision.chosen + 1) % before.decision.scores.length;
  const label = await page.see(text('candidates-label')), picture = await page.see(painted);
  await page.point(await page.see(middle(row(other))));
  await page.until(`${text('candidates-label')}.startsWith('candidate ${other}: score ')`);
  assert.notEqual(await page.see(painted), picture, 'its way does not stand out');
  assert.ok(await page.see(`document.getElementById('force').disabled`));
  await page.point([2, 2]);
  await page.until(`${text('candidates-label')} === ${JSON.stringify(label)}`);
  assert.equal((await state()).decision.forced, false);

  await page.see(click('#play'));
  await page.until(`${text('play')} === 'Pause' && ${count} === 8`);
  for (let i = 0; (await page.see(text('play'))) === 'Pause'; i++) { // between two episodes there is nothing to hold
    assert.ok(i < 20, 'it plays on');
    await page.press(await page.see(middle(row(other))));
    await sleep(200);
  }
  await page.point([2, 2]);
  await page.until(`document.querySelector('${row(other)}').getAttribute('aria-pressed') === 'true'`);
  await page.until(`${text('candidates-label')}.startsWith('candidate ${other}: score ')`);
  const held = await state();
  assert.equal(held.decision.forced, false);
  assert.equal(held.playing, false);

  await page.press(await page.see(middle('#force')));
  await page.until(`${text('candidates-label')} === 'chosen by hand: ${other}'`);
  assert.equal(await page.see(`document.querySelectorAll('#candidates .chosen').length`), 1);
  assert.match(await page.see(text('now')), /not counted: by hand/);
  const forced = await state();
  assert.equal(forced.decision.chosen, other);
  assert.equal(forced.step, held.step);
  await page.see(`document.activeElement.blur()`);
  await page.key(String(held.decision.chosen)); // by the number that it has in the list
  await page.until(`${text('force')} === 'Force candidate ${held.decision.chosen}'`);
  await page.key('Escape');
  await page.until(`document.getElementById('force').disabled`);
  await page.key(String(held.decision.chosen));
  await page.key('f');
  await page.until(`${text('candidates-label')} === 'chosen by hand: ${held.decision.chosen}'`);
  await page.see(click('#step'));
  await page.until(`document.body.dataset.step == ${held.step + 1}`);
}

// Who is ahead and by how much is read on the first screen, and is what the episodes of the stream add up to.
async function saysWhoIsAhead(page) {
  const ends = new Map();
  await page.size(1400, 900);
  await page.see(choose('rate', 60));
  await page.see(choose('arm', 'plan')); // the present episode was begun by another plan
  await page.until(`${text('headline')}.includes('the first episode')`);
  const request = visit(f => { if (f.over && !f.handled) ends.set(f.seed + '/' + f.episode, f.worlds.map(w => w.total)); });
  await page.see(choose('seed', 3));
  await page.see(`${text('play')} === 'Pause' || document.getElementById('play').click()`);
  await page.until(`/ in [0-9]+ of 3 episodes/.test(${text('headline')})`, 60);
  await page.see(click('#play'));
  await page.until(text('play') + ` === 'Play'`);
  request.destroy();
  const said = (await page.see(text('headline'))).match(/^Same policy, same world: planning ahead in (\d+) of (\d+) episodes, (.)([\d.]+)%$/);
  const played = [...ends.values()], [planned, alone] = [0, 1].map(side => played.reduce((sum, totals) => sum + totals[side], 0));
  assert.ok(said, 'it does not say who is ahead');
  assert.equal(played.length, 3);
  assert.deepEqual([Number(said[1]), Number(said[2])], [played.filter(([p, a]) => p > a).length, 3]);
  assert.ok(Math.abs((said[3] === '+' ? 1 : -1) * said[4] - 100 * (planned - alone) / Math.abs(alone)) < 0.51);
  const { worlds } = await state(), lead = worlds[0].total - worlds[1].total;
  const now = (await page.see(text('now'))).match(/planning (leads|is behind) by ([\d.]+)/);
  assert.equal(now[1], lead > 0 ? 'leads' : 'is behind');
  assert.ok(Math.abs(now[2] - Math.abs(lead)) < 0.06);
  await page.see(choose('time', 5)); // at its end an episode has nothing to decide
  await page.until(`document.body.dataset.step == 5 && ${count} === 8`);
  await page.see(`scrollTo(0, 0)`);
  for (const selector of ['#headline', '#now', '#idea', '#tally', '#planned', '#alone', '#legend', '#force', '#play', row(7)])
    assert.ok(await page.see(`(() => { const r = document.querySelector('${selector}').getBoundingClientRect();
      return r.height > 0 && r.top >= 0 && r.bottom <= 900 && r.left >= 0 && r.right <= 1400; })()`), selector + ' is not on the first screen');
  for (const words of ['imagined, from low score to high', 'chosen', 'executed', 'what came of it', 'agent', 'landmark'])
    assert.ok((await page.see(text('legend'))).includes(words), words + ' has no legend');
  await picture(page, 'first-screen');
}

async function isNamed(page) {
  const shapes = (await state()).worlds[0].shapes;
  await page.see(`document.getElementById('planned').focus()`);
  for (const i of shapes.keys()) {
    const next = shapes[(i + 1) % shapes.length];
    await page.key(']');
    await page.until(`${text('status')} === 'chosen: ${next[1]} ${next[2]}'`, 5);
  }
  await page.see(`document.activeElement.blur()`);
}

async function isDragged(page) {
  const before = await state(), thing = before.worlds[0].shapes.find(s => s[1] === 'landmark');
  const rect = await page.see(`(() => { const r = document.getElementById('planned').getBoundingClientRect(); return [r.x, r.y, r.width, r.height]; })()`);
  const at = ([x, y]) => [rect[0] + rect[2] * (x + 1.15) / 2.3, rect[1] + rect[3] * (1.15 - y) / 2.3]; // while all are inside
  const to = [thing[6] > 0 ? -0.5 : 0.5, thing[7] > 0 ? -0.5 : 0.5];
  await page.drag(at([thing[6], thing[7]]), at(to));
  for (let i = 0; i < 50; i++) {
    const now = (await state()).worlds.map(w => w.shapes.find(s => s[1] === 'landmark' && s[2] === thing[2]));
    if (now.every(s => Math.hypot(s[6] - to[0], s[7] - to[1]) < 0.3)) return;
    await sleep(50);
  }
  assert.fail('the landmark stays where it was');
}

async function isRecorded(page, browser) {
  const folder = mkdtempSync(join(tmpdir(), 'mawam-replay-'));
  await browser.call('Browser.setDownloadBehavior', { behavior: 'allow', downloadPath: folder });
  const { step } = await state();
  await page.see(click('#record'));
  let file;
  for (let i = 0; i < 100 && !(file = readdirSync(folder).find(name => name.endsWith('.html'))); i++) await sleep(50);
  assert.ok(file, 'nothing was saved');
  const data = JSON.parse(readFileSync(join(folder, file), 'utf8').split(`id='data'>`)[1].split('</script>')[0]);
  assert.equal(data.frames.length, step + 1);
  assert.equal(data.frames[0].scores.length, 8);
  const replay = await browser.open('file://' + join(folder, file));
  await replay.until(`document.getElementById('task') && ${text('task')} === 'spread'`);
  await replay.close();
  rmSync(folder, { recursive: true });
}

// Of the faintest bar against its card, as WCAG defines it.
const contrast = `(() => {
  const light = text => text.match(/[\\d.]+/g).slice(0, 3).map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0.05);
  const card = light(getComputedStyle(document.querySelector('.futures')).backgroundColor);
  return Math.min(...[...document.querySelectorAll('#candidates i')].map(e => light(getComputedStyle(e).backgroundColor) / card));
})()`;

async function fitsEverywhere(page) {
  for (const width of [390, 360]) {
    await page.size(width, 740);
    assert.ok(await page.until(`document.documentElement.scrollWidth <= ${width}`, 3));
    const cut = await page.see(`[...document.querySelectorAll('body *')].filter(e => e.clientWidth && getComputedStyle(e).display !== 'inline' &&
      (e.getBoundingClientRect().right > ${width} + 0.5 || e.scrollWidth > e.clientWidth + 1 && !/^(I|INPUT|SELECT)$/.test(e.tagName))).map(e => e.tagName + '#' + e.id)`);
    assert.deepEqual(cut, [], 'cut off at ' + width);
  }
  await picture(page, 'phone');
  await page.size(1200, 900);
  const back = `getComputedStyle(document.body).backgroundColor`, light = await page.see(back);
  await page.media({ 'prefers-color-scheme': 'dark' });
  assert.notEqual(await page.see(back), light);
  await page.until(`${contrast} > 2`, 3); // the lowest score's bar
  await sleep(200);
  await picture(page, 'dark');
  await page.media({ 'prefers-color-scheme': 'light', 'prefers-reduced-motion': 'reduce' });
  await page.see(click('#play'));
  await sleep(600);
  const before = Number(await page.see(`document.body.dataset.shown`));
  await sleep(1500);
  assert.ok(Number(await page.see(`document.body.dataset.shown`)) - before <= 5, 'too much motion');
  await page.media({});
}

async function isReloaded(page) {
  await page.call('Page.reload');
  await page.until(`document.body && document.body.dataset.shown > 1`);
  await page.until(count + ' === 8');
}

async function hasTenVisitors(page) {
  const seen = new Array(9).fill(0), visitors = seen.map((_, i) => visit(() => seen[i]++));
  await page.see(`${text('play')} === 'Pause' || document.getElementById('play').click()`);
  for (let i = 0; i < 100 && seen.some(n => n < 5); i++) await sleep(50);
  assert.ok(seen.every(n => n >= 5), 'somebody sees nothing: ' + seen);
  visitors.forEach(v => v.destroy());
}

async function playsAnother(page) {
  await page.see(choose('bundle', '3m-medium'));
  await page.until(`${text('task')} === '3m' && ${count} > 0`);
  await page.see(`${text('play')} === 'Pause' || document.getElementById('play').click()`);
  await page.until(`/stop|attack|east|west|north|south|move/.test(${text('candidates')})`);
  await page.until(`document.body.dataset.step > 7`); // there are as many steps to look at
  await page.see(click('#play'));
  await page.until(text('play') + ` === 'Play'`);
  let grouped = false;
  for (let step = 1; step < 8; step++) { // as many rows as there are different first actions, with their numbers
    await page.see(choose('time', step));
    await page.until(`document.body.dataset.step == ${step}`);
    const { decision } = await state(), kinds = new Set(decision.labels);
    assert.equal(await page.see(count), kinds.size);
    const numbers = await page.see(`[...document.querySelectorAll('#candidates span:first-child')].map(e => Number((e.textContent.match(/\u00d7(\\d+)$/) || [0, 1])[1]))`);
    assert.equal(numbers.reduce((x, y) => x + y), decision.labels.length);
    grouped ||= kinds.size < decision.labels.length;
  }
  assert.ok(grouped, 'no two candidates had the same first actions');
  await page.see(click('#play'));
}

async function restsAlone() {
  const history = () => fetch(url + 'history').then(r => r.json()).then(h => h.episode + '/' + h.steps.length);
  for (let i = 0; i < 12; i++) { // the end of a connection is noticed when something is sent
    const before = await history();
    await sleep(800);
    if (await history() === before) return;
  }
  assert.fail('plays on without visitors');
}

async function picture(page, name) {
  if (pictures) writeFileSync(join(pictures, name + '.png'), await page.picture());
}

const browser = new Chromium(chromium);
let failed = false;
try {
  const page = await browser.open(url);
  await opensAndPlays(page);
  await fast(page, 'spread');
  await isChanged(page);
  assert.equal(page.complaints.filter(c => !c.includes('400')).join('\n'), ''); // the horizon of 99 was refused
  page.complaints.length = 0;
  await isBegun(page);
  await isPausedAndScrubbed(page);
  await isLookedAtHeldAndForced(page);
  await isNamed(page);
  await isDragged(page);
  await isRecorded(page, browser);
  await saysWhoIsAhead(page);
  await fitsEverywhere(page);
  await isReloaded(page);
  await hasTenVisitors(page);
  await playsAnother(page);
  await fast(page, '3m');
  await picture(page, '3m');
  assert.equal(page.complaints.join('\n'), '');
  await page.close();
  await restsAlone();
} catch (error) {
  failed = true;
  console.error(error);
} finally {
  await browser.close();
  live.removeAllListeners('exit');
  live.kill('SIGTERM');
  const code = await new Promise(resolve => live.once('exit', resolve));
  if (code !== 0) { console.error('mawam live ended with ' + code); failed = true; }
}
process.exit(failed ? 1 : 0);
