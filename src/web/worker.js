// The planner of the page that plans: the module, its clock, and its messages. link.js is at the other end.
let module, memory, timer = 0, last = 0, looking = false, broken = false;

/* ---- the little that the module's C library asks of a system ---- */

const fine = 0, badFile = 8;
const word = (at, value) => { new DataView(memory.buffer).setUint32(at, value, true); return fine; };
const system = {
  environ_sizes_get: (count, size) => { word(count, 0); return word(size, 0); },
  environ_get: () => fine,
  clock_time_get: (id, precision, at) => {
    new DataView(memory.buffer).setBigUint64(at, BigInt(Math.round(performance.now() * 1e6)), true);
    return fine;
  },
  proc_exit: code => { throw new Error('the planner ended with ' + code); },
};

/* ---- calls ---- */

function put(bytes) {
  const at = module.web_take(bytes.byteLength);
  if (!at) throw new Error('out of memory');
  new Uint8Array(memory.buffer).set(new Uint8Array(bytes), at);
  return at;
}
const putText = text => put(new TextEncoder().encode(text + '\0'));
const said = () => new TextDecoder().decode(new Uint8Array(memory.buffer, module.web_text(), module.web_size()));
const answer = good => ({ good: good === 1, text: module.web_size() ? said() : '' });

function give(name, bundle) {
  module.web_give(putText(name), put(bundle), bundle.byteLength);
}
function show() {
  if (module.web_frame()) postMessage({ frame: said() });
}

/* ---- the clock: an even beat, without catching up ---- */

function wait() {
  clearTimeout(timer);
  const pause = 1000 * module.web_pause();
  if (pause < 0 || !looking) return;
  timer = setTimeout(() => guarded(() => {
    last = Math.max(last + pause, performance.now() - pause);
    module.web_tick();
    show();
    wait();
  }), Math.max(0, last + pause - performance.now()));
}

/* ---- messages ---- */

const calls = {
  async start({ module: bytes, bundle, first, bundles, seed }) {
    const imports = new Proxy(system, { get: (known, name) => known[name] || (() => badFile) });
    const { instance } = await WebAssembly.instantiate(bytes, { wasi_snapshot_preview1: imports });
    module = instance.exports;
    memory = module.memory;
    module._initialize();
    module.web_list(putText(bundles.map(name => name + '\n').join('')));
    give(first, bundle);
    const result = answer(module.web_open(putText(first), seed));
    if (result.good) show();
    return result;
  },
  command({ text, name, bundle }) {
    if (bundle) give(name, bundle);
    const result = answer(module.web_command(putText(text)));
    show();
    wait();
    return result;
  },
  look({ on }) {
    looking = on;
    wait();
    return { good: true, text: '' };
  },
  about: () => answer(module.web_about()),
  history: () => answer(module.web_history()),
  recording: () => answer(module.web_recording()),
};

// What breaks the module, such as want of memory in the wrong place, ends it, and is told.
async function guarded(run) {
  if (broken) return undefined;
  try {
    return await run();
  } catch (e) {
    broken = true;
    postMessage({ lost: 'The planner has stopped: ' + e.message });
    return undefined;
  }
}
onmessage = async ({ data }) => {
  const result = await guarded(() => calls[data.what](data)) || { good: false, text: 'The planner has stopped.' };
  postMessage({ id: data.id, ...result });
};
