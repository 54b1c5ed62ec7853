// mend.mjs changes instructions and nothing else: constants with the same bytes stay, and what it does not know it refuses.
// usage: node mend.mjs SOURCE
import assert from 'node:assert';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const folder = mkdtempSync(join(tmpdir(), 'mawam-mend-')), path = join(folder, 'module.wasm');
const header = [0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0];
const fma = [0xfd, 0xaf, 0x01], mended = [0xfd, 0x85, 0x02];
const vector = [0xfd, 12, ...Array(16).fill(0)], drop = 0x1a;
const module = body => Buffer.from([...header, 10, body.length + 4, 1, body.length + 2, 0, ...body, 0x0b]);
function mend(bytes) {
  writeFileSync(path, bytes);
  const { status, stderr } = spawnSync(process.execPath, [join(process.argv[2], 'src/web/mend.mjs'), path]);
  return { good: status === 0, text: String(stderr), bytes: readFileSync(path) };
}

const hidden = [0x43, 0xfd, 0xaf, 0x01, 0, drop, 0xfd, 12, ...fma, ...fma, ...fma, ...fma, ...fma, 0, drop, 0x44, 0, ...fma, 0, 0, 0, 0, drop];
const product = code => [...vector, ...vector, ...vector, ...code, drop];
try {
  const result = mend(module([...hidden, ...product(fma)]));
  assert.ok(result.good, result.text);
  assert.deepEqual([...result.bytes], [...module([...hidden, ...product(mended)])]);
  assert.match(mend(module(hidden)).text, /no relaxed multiply-add/);
  assert.match(mend(module(product([0xfd, 0xb0, 0x01]))).text, /vector instruction 176 is not known/);
  assert.match(mend(module([0x06, ...product(fma)])).text, /instruction 6 is not known/);
  assert.match(mend(module(product(fma)).subarray(0, 60)).text, /ends too soon|does not end/);
  assert.match(mend(Buffer.from('no module at all')).text, /no module/);
} finally {
  rmSync(folder, { recursive: true });
}
