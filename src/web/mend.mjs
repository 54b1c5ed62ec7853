// Gives the relaxed multiply-adds of a module their code of today: clang 14 writes f32x4.fma, fd af 01, as the proposal had
// it; f32x4.relaxed_madd is fd 85 02. Every instruction of the code section is read, so that no constant is taken for one.
// usage: node mend.mjs MODULE.wasm
import { readFileSync, writeFileSync } from 'node:fs';

const path = process.argv[2], bytes = readFileSync(path);
let at = 0, mended = 0;

const fail = what => { throw new Error(`${path}, byte ${at}: ${what}`); };
const byte = () => at < bytes.length ? bytes[at++] : fail('the module ends too soon');
function number() { // LEB128, unsigned; as long as its bits are not looked at it may be a signed one
  let value = 0, shift = 0, b;
  do { b = byte(); value += (b & 127) * 2 ** shift; shift += 7; } while (b & 128);
  return value;
}
const numbers = count => { while (count-- > 0) number(); };
const skip = count => { at += count; };
const memory = () => numbers(2); // alignment and offset

// Those that the proposal had between the codes of the standard.
const gaps = [0xa2, 0xa5, 0xa6, 0xaf, 0xb0, 0xb2, 0xb3, 0xb4, 0xbb, 0xc2, 0xc5, 0xc6, 0xcf, 0xd0, 0xd2, 0xd3, 0xd4, 0xe2, 0xee];
function vectorInstruction() {
  const from = at, code = number();
  if (code === 0xaf && at === from + 2) {
    bytes[from] = 0x85;
    bytes[from + 1] = 0x02;
    mended++;
  } else if (gaps.includes(code) || code > 0x113) fail('vector instruction ' + code + ' is not known here');
  else if (code <= 11 || code === 92 || code === 93) memory();
  else if (code === 12 || code === 13) skip(16);
  else if (code >= 21 && code <= 34) skip(1);
  else if (code >= 84 && code <= 91) { memory(); skip(1); }
}
function instruction() {
  const code = byte();
  if (code === 0xfd) vectorInstruction();
  else if (code === 0xfc) { const more = number(); numbers(more < 8 ? 0 : [2, 1, 2, 1, 2, 1, 2, 1, 1, 1][more - 8] ?? fail('instruction fc ' + more)); }
  else if (code === 0x0e || code === 0x1c) numbers(number() + (code === 0x0e ? 1 : 0));
  else if (code === 0x11) numbers(2);
  else if (code >= 0x28 && code <= 0x3e) memory();
  else if (code === 0x43) skip(4);
  else if (code === 0x44) skip(8);
  else if ([0x02, 0x03, 0x04, 0x0c, 0x0d, 0x10, 0x3f, 0x40, 0x41, 0x42, 0xd0, 0xd2].includes(code) || (code >= 0x20 && code <= 0x26)) number();
  else if (![0x00, 0x01, 0x05, 0x0b, 0x0f, 0x1a, 0x1b, 0xd1].includes(code) && !(code >= 0x45 && code <= 0xc4)) fail('instruction ' + code + ' is not known here');
}
function body() {
  const size = number(), end = at + size;
  for (let groups = number(); groups > 0; groups--) numbers(2); // locals: how many, of which type
  while (at < end) instruction();
  if (at !== end || bytes[end - 1] !== 0x0b) fail('a function does not end where it should');
}

if (bytes.readUInt32LE(0) !== 0x6d736100) fail('this is no module');
for (at = 8; at < bytes.length;) {
  const section = byte(), size = number(), end = at + size;
  if (section === 10) for (let count = number(); count > 0; count--) body();
  else at = end;
  if (at !== end) fail('a section does not end where it should');
}
if (!mended) fail('it has no relaxed multiply-add');
writeFileSync(path, bytes);
