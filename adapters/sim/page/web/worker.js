// Runs the engine. A request is text, the answer is text in records (\x1e) and fields (\x1f).
let engine;
async function load(bytes) {
  engine = (await WebAssembly.instantiate(bytes, {})).instance.exports;
}
function ask(text) {
  const request = new TextEncoder().encode(text);
  // Making room may move the memory, so it is looked at afterwards.
  const room = engine.request(request.length);
  new Uint8Array(engine.memory.buffer).set(request, room);
  const at = engine.answer();
  const answer = new Uint8Array(engine.memory.buffer, at, engine.answer_length());
  return new TextDecoder().decode(answer).split("\x1e").filter(Boolean).map((r) => r.split("\x1f"));
}
self.onmessage = async ({ data }) => {
  try {
    if (data.load) {
      await load(data.load);
      self.postMessage({ id: data.id, records: [] });
    } else {
      const start = performance.now();
      self.postMessage({ id: data.id, records: ask(data.ask), ms: performance.now() - start });
    }
  } catch (error) {
    self.postMessage({ id: data.id, records: [["error", String(error)]], lost: true });
  }
};
