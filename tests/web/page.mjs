// The page that plans in a real chromium: served as a folder of files, with and without relaxed SIMD, and as one file from the
// disk. What it decides is what the program decides, frame for frame.
// usage: node page.mjs PROGRAM CHROMIUM FOLDER BUNDLES [FOLDER-FOR-PICTURES]
import assert from 'node:assert';
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join, normalize } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Chromium } from '../live/chromium.mjs';

const [program, chromium, site, bundles, pictures] = process.argv.slice(2);
const types = { html: 'text/html', css: 'text/css', js: 'text/javascript' };
const median = list => list.sort((a, b) => a - b)[list.length >> 1];

/* ---- the page as files ---- */

const fetched = [];
const server = http.createServer((request, reply) => {
  const name = normalize(request.url.slice(1) || 'index.html');
  fetched.push(name);
  try {
    const bytes = readFileSync(join(site, name));
    reply.writeHead(200, { 'Content-Type': types[name.split('.').pop()] || 'application/octet-stream' });
    reply.end(bytes);
  } catch (e) {
    reply.writeHead(404);
    reply.end();
  }
}).listen(0, '127.0.0.1');
await new Promise(resolve => server.once('listening', resolve));
const url = `http://127.0.0.1:${server.address().port}/`;

/* ---- the program, asked for the same ---- */

const live = spawn(program, ['live', join(bundles, 'spread-medium.safetensors'), '--port', '0', '--no-open', '--threads', '1'], { stdio: ['ignore', 'pipe', 'inherit'] });
const address = await new Promise(resolve => live.stdout.once('data', piece => resolve(piece.toString().trim())));
const ask = command => fetch(address + 'command', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(command) });
async function nativeFrame() {
  const reply = await fetch(address + 'events'), reader = reply.body.getReader();
  let text = '';
  while (!text.includes('\n\n')) text += new TextDecoder().decode((await reader.read()).value);
  reader.cancel();
  return JSON.parse(text.slice(6, text.indexOf('\n\n')));
}
// Without what depends on the clock.
const timeless = frame => ({ ...frame, playing: 0, rate: 0, version: 0, worlds: frame.worlds.map(w => ({ ...w, ms: 0 })) });

/* ---- the visit ---- */

// The page's own link, as live.js has it: the module is loaded once. Frames come as the worker posts them.
const spy = `(() => { window.frames_ = []; const post = Worker.prototype.postMessage; Worker.prototype.postMessage = function (...a) {
  if (!this.spied) { this.spied = true; this.addEventListener('message', e => { if (e.data.frame) frames_.push(e.data.frame); }); }
  return post.apply(this, a); }; })();`;
const newest = page => page.see(`frames_.at(-1)`).then(JSON.parse);
const act = (page, expression) => page.see(`import('./link.js').then(link => link.send(${JSON.stringify(expression)}))`);

async function visit(browser, target, relaxed) {
  const page = await browser.open();
  const older = `WebAssembly.validate = () => false;`; // as in a browser that does not know relaxed SIMD
  await page.call('Page.addScriptToEvaluateOnNewDocument', { source: spy + (relaxed ? '' : older) });
  const begun = performance.now();
  await page.call('Page.navigate', { url: target });
  await page.until(`document.body.dataset.shown > 3 && document.body.dataset.step > 1`, 120); // it plays by itself
  const ready = performance.now() - begun;
  assert.match(await page.see(`document.getElementById('where').textContent`), relaxed ? /with its fused/ : /step by step/);
  assert.equal(await page.see(`document.getElementById('task').textContent`), 'spread');
  return { page, ready };
}

async function decidesAsTheProgram(page) {
  for (const command of [{ do: 'pause' }, { do: 'bundle', name: 'spread-medium.safetensors' }, { do: 'begin', seed: 5 }, { do: 'step' }, { do: 'step' }, { do: 'step' }, { do: 'force', step: 3, candidate: 2 },
    { do: 'step' }, { do: 'set', name: 'candidates', value: '4' }, { do: 'step' }, { do: 'place', step: 5, role: 'agent', id: 1, x: 0.25, y: -0.5 },
    { do: 'step' }, { do: 'seek', step: 4 }, { do: 'arm', name: 'paper' }, { do: 'set', name: 'candidates', value: '1000' }, { do: 'step' }]) {
    const here = await act(page, command), there = await ask(command);
    assert.deepEqual([here.good, here.text], [there.ok, await there.text()]);
    if (command.do === 'pause' || command.do === 'bundle') continue; // as they were, which differs
    const [mine, its] = [await newest(page), await nativeFrame()].map(timeless).map(frame => JSON.stringify(frame));
    assert.ok(mine === its, `after ${JSON.stringify(command)} the page has another frame than the program`);
  }
}

// As fast as it can: the times that frames name are those of decisions, of both worlds.
async function fast(page, name) {
  await act(page, { do: 'arm', name: 'plan' });
  await act(page, { do: 'set', name: 'candidates', value: '8' });
  await act(page, { do: 'rate', value: 120 });
  await act(page, { do: 'begin', seed: 1 });
  await act(page, { do: 'play' });
  await new Promise(resolve => setTimeout(resolve, 5000));
  await act(page, { do: 'pause' });
  const times = await page.see(`frames_.map(f => JSON.parse(f)).filter(f => f.seed === 1 && f.decision.scores.length === 8).map(f => f.worlds[0].ms)`);
  const least = Math.min(...times), usual = median(times);
  console.log(`${name}: ${(1000 / usual).toFixed(1)} decisions a second (median of ${usual.toFixed(1)} ms), ${(1000 / least).toFixed(1)} at best`);
}

async function changesBundle(page) {
  assert.ok(!fetched.some(name => name.includes('3m')), 'bundles are fetched on demand');
  await page.see(`(() => { const e = document.getElementById('bundle'); e.value = '3m-medium'; e.dispatchEvent(new Event('change')); })()`);
  await page.until(`document.getElementById('task').textContent === '3m'`, 60);
  assert.ok(await page.see(`![...document.getElementById('bundle').options].some(o => o.value.includes('ant'))`));
  await act(page, { do: 'step' });
  const { step } = await newest(page);
  assert.ok(step > 0);
  await page.until(`document.body.dataset.step == ${step}`);
}

async function savesTheReplay(page, name) {
  const text = await page.see(`import('./link.js').then(link => link.recording()).then(fetch).then(r => r.text())`);
  assert.match(text, /^<!doctype html>/i);
  assert.match(text, name);
}

// One file, from the disk, with nothing else to fetch.
async function opensFromTheDisk(browser) {
  const folder = mkdtempSync(join(tmpdir(), 'mawam-page-')), file = join(folder, 'spread.html');
  try {
    execFileSync(program, ['live', join(bundles, 'spread-medium.safetensors'), '--export', file, '--seed', '5']);
    const text = readFileSync(file, 'utf8'), begun = fetched.length;
    assert.ok(!/(src|href)="(?!data:)/.test(text), 'it refers to other files');
    const { page } = await visit(browser, pathToFileURL(file).href, true);
    assert.equal(await page.see(`document.body.dataset.seed`), '5');
    await decidesAsTheProgram(page);
    await savesTheReplay(page, /spread/);
    await picture(page, 'web-file');
    assert.equal(fetched.length, begun);
    assert.deepEqual(page.complaints, []);
    console.log(`one file: ${(statSync(file).size / 1e6).toFixed(1)} MB`);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function picture(page, name) {
  if (pictures) writeFileSync(join(pictures, name + '.png'), await page.picture());
}

try {
  for (const relaxed of [true, false]) {
    const browser = new Chromium(chromium);
    try {
      fetched.length = 0;
      const name = relaxed ? 'with relaxed SIMD' : 'without';
      const { page, ready } = await visit(browser, url, relaxed);
      console.log(`${name}: decides ${(ready / 1000).toFixed(1)} s after the page was opened`);
      await picture(page, relaxed ? 'web-relaxed' : 'web');
      await decidesAsTheProgram(page);
      await fast(page, name);
      await changesBundle(page);
      await savesTheReplay(page, /3m/);
      if (relaxed) await opensFromTheDisk(browser);
      assert.deepEqual(page.complaints, []);
    } finally {
      await browser.close();
    }
  }
} finally {
  live.kill();
  server.close();
}
