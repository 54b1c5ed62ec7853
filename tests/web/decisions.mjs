// The planner in WebAssembly decides as the native program does, bit for bit: decisions.c runs as both, and what it prints
// must be the same. The module with relaxed SIMD runs where node has that, with a fused multiply-add, as link.js finds out.
// usage: node decisions.mjs NATIVE FOLDER-OF-MODULES SOURCE
import assert from 'node:assert';
import { execFileSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';

setFlagsFromString('--experimental-wasm-relaxed-simd'); // not yet without it in node 18 and 20
const [native, modules, source] = process.argv.slice(2), link = readFileSync(join(source, 'src/web/link.js'));
const { fuses } = await import('data:text/javascript;base64,' + link.toString('base64'));

// A program of WASI with arguments, an input and an output.
function run(module, words, input) {
  let memory, output = '', read = 0;
  const encoded = words.map(word => Buffer.from(word + '\0'));
  const view = () => new DataView(memory.buffer);
  const number = (at, value) => { view().setUint32(at, value, true); return 0; };
  const vectors = (at, count) => [...Array(count)].map((_, i) => [view().getUint32(at + 8 * i, true), view().getUint32(at + 8 * i + 4, true)]);
  const system = {
    args_sizes_get: (count, size) => { number(count, words.length); return number(size, Buffer.concat(encoded).length); },
    args_get: (list, text) => {
      for (const word of encoded) { number(list, text); new Uint8Array(memory.buffer).set(word, text); list += 4; text += word.length; }
      return 0;
    },
    environ_sizes_get: (count, size) => { number(count, 0); return number(size, 0); },
    environ_get: () => 0,
    clock_time_get: (id, precision, at) => { view().setBigUint64(at, process.hrtime.bigint(), true); return 0; },
    fd_read: (fd, at, count, size) => {
      let sum = 0;
      for (const [to, room] of vectors(at, count)) {
        const piece = input.subarray(read, read + room);
        new Uint8Array(memory.buffer).set(piece, to);
        read += piece.length;
        sum += piece.length;
      }
      return number(size, sum);
    },
    fd_write: (fd, at, count, size) => {
      const pieces = vectors(at, count).map(([from, length]) => Buffer.from(memory.buffer, from, length));
      output += Buffer.concat(pieces).toString();
      return number(size, pieces.reduce((sum, piece) => sum + piece.length, 0));
    },
    proc_exit: code => { throw Object.assign(new Error('exit ' + code), { code }); },
  };
  const rest = new Proxy(system, { get: (known, name) => known[name] ?? (() => 8) }); // no such file
  const instance = new WebAssembly.Instance(module, { wasi_snapshot_preview1: rest });
  memory = instance.exports.memory;
  const begun = performance.now();
  try { instance.exports._start(); } catch (e) { if (e.code !== 0) throw new Error(output + e.message); }
  return { output, seconds: (performance.now() - begun) / 1000, memory: memory.buffer.byteLength };
}

const steps = '6';
for (const name of ['decisions', 'decisions-relaxed']) {
  if (name.endsWith('relaxed') && !fuses()) {
    console.log('no fused multiply-add of relaxed SIMD here: decisions-relaxed.wasm goes untested');
    continue;
  }
  const module = new WebAssembly.Module(readFileSync(join(modules, name + '.wasm')));
  for (const bundle of ['spread', 'tag', 'world', '3m', '2s3z']) {
    const input = readFileSync(join(source, 'bundles', bundle + '-medium.safetensors'));
    const wanted = execFileSync(native, [steps], { input }).toString();
    assert.equal(wanted.trim().split('\n').length, Number(steps));
    const { output, seconds, memory } = run(module, ['decisions', steps], input);
    assert.equal(output, wanted, `${name}, ${bundle}: other bits`);
    console.log(`${name} ${bundle}: ${steps} decisions as native, ${(1000 * seconds / steps).toFixed(0)} ms each with loading, ${(memory / 1e6).toFixed(0)} MB`);
  }
}
for (const name of ['mawam', 'mawam-relaxed']) {
  const size = statSync(join(modules, name + '.wasm')).size;
  console.log(`${name}.wasm: ${size} bytes`);
  assert.ok(size < 400000, 'a module has 400 kB or more');
}
