// How the page talks with a planner in its own browser: the same functions as src/live/link.js, and a worker behind them.
// Modules and bundles are fetched when they are wanted; a page that holds everything has them in the element `files`.
const files = globalThis.document && document.getElementById('files'), held = files && JSON.parse(files.textContent);

async function read(name) {
  if (held) return Uint8Array.from(atob(held[name]), c => c.charCodeAt(0)).buffer;
  const reply = await fetch(name);
  if (!reply.ok) throw new Error('cannot fetch ' + name + ': ' + reply.status);
  return reply.arrayBuffer();
}

// A module that computes a * a + c once, a = 1 + 2^-23, c = -(1 + 2^-22): with one rounding that is 2^-46, with two it is 0.
const probe = [0, 97, 115, 109, 1, 0, 0, 0, 1, 7, 1, 96, 2, 125, 125, 1, 125, 3, 2, 1, 0, 7, 5, 1, 1, 102, 0, 0,
  10, 22, 1, 20, 0, 32, 0, 253, 19, 32, 0, 253, 19, 32, 1, 253, 19, 253, 133, 2, 253, 31, 0, 11];
export function fuses() {
  const bytes = new Uint8Array(probe);
  if (!WebAssembly.validate(bytes)) return false;
  const { f } = new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports;
  return f(1 + 2 ** -23, -(1 + 2 ** -22)) === 2 ** -46;
}

/* ---- the worker ---- */

let worker, next = 0, ready = false;
const waiting = new Map();
let hear = () => {}, mourn = () => {};

function call(what, more = {}, move = []) {
  const id = next++;
  worker.postMessage({ id, what, ...more }, move);
  return new Promise(resolve => waiting.set(id, resolve));
}
function receive({ data }) {
  if (data.frame) {
    ready = true;
    hear(data.frame);
  }
  if (data.lost) mourn(data.lost);
  if (data.id === undefined) return;
  waiting.get(data.id)({ good: data.good, text: data.text });
  waiting.delete(data.id);
}
async function start() {
  const fused = fuses(), name = fused ? 'mawam-relaxed.wasm' : 'mawam.wasm';
  const { bundles, first, seed } = JSON.parse(new TextDecoder().decode(await read('bundles.json')));
  const code = URL.createObjectURL(new Blob([await read('worker.js')], { type: 'text/javascript' }));
  worker = new Worker(code);
  worker.onmessage = receive;
  worker.onerror = e => mourn(e.message);
  const [module, bundle] = [await read(name), await read('bundles/' + first)];
  const { good, text } = await call('start', { module, bundle, first, bundles, seed }, [module, bundle]);
  if (!good) throw new Error(text);
  document.getElementById('where').textContent = 'Planned in this browser, ' + (fused ? 'with its fused multiply-add: '
    : 'which has no fused multiply-add, so that it is computed step by step: slower, and ') +
    'the same bits as the program. Ant needs MuJoCo and is left out.';
  look();
  document.addEventListener('visibilitychange', look);
}
const look = () => call('look', { on: !document.hidden });

/* ---- what the page calls ---- */

export async function send(command) {
  if (!ready) return { good: false, text: 'The planner is not here yet.' };
  const more = { text: JSON.stringify(command) }, move = [];
  if (command.do === 'bundle') {
    try {
      more.bundle = await read('bundles/' + command.name);
    } catch (e) {
      return { good: false, text: e.message };
    }
    more.name = command.name;
    move.push(more.bundle);
  }
  return call('command', more, move);
}
export async function get(name) {
  const { good, text } = await call(name);
  if (!good) throw new Error(text);
  return JSON.parse(text);
}
export async function recording() {
  const { good, text } = await call('recording');
  if (!good) throw new Error(text);
  return URL.createObjectURL(new Blob([text], { type: 'text/html' }));
}
export function listen(take, opened, lost) {
  hear = take;
  mourn = lost;
  document.getElementById('status').textContent = 'The planner is on its way ...';
  start().then(opened, e => lost(e.message));
}
