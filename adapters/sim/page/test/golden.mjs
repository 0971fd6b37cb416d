// Runs the golden runs in wasm, and compares them with what the native build comes to.
//
//   node golden.mjs ENGINE
import { readFileSync } from "node:fs";

const { instance } = await WebAssembly.instantiate(readFileSync(process.argv[2]), {});
const engine = instance.exports;
const request = new TextEncoder().encode("what=golden");
const room = engine.request(request.length);
new Uint8Array(engine.memory.buffer).set(request, room);
const at = engine.answer();
const answer = new TextDecoder().decode(new Uint8Array(engine.memory.buffer, at, engine.answer_length()));
const runs = answer.split("\x1e").filter(Boolean).map((record) => record.split("\x1f"));
let failed = runs.length === 0 ? 1 : 0;
for (const [, name, known, got] of runs) {
  const same = known === got;
  if (!same) failed += 1;
  console.log(`${same ? "ok     " : "FAILED "} ${name}: ${got}${same ? "" : `, natively ${known}`}`);
}
process.exit(failed ? 1 : 0);
