"use strict";
// What a person chooses becomes a request to the engine; what it answers is shown. The page decides
// nothing about retries.
const $ = (id) => document.getElementById(id);
const form = $("form");
const texts = {};
let shown = "toml", round = 0, digest = "";

// The engine, in a worker; a page from a file may have one too, because it is made of a blob.
const waiting = new Map();
let worker, sequence = 0;
function start() {
  const script = new Blob([$("worker").textContent], { type: "text/javascript" });
  worker = new Worker(URL.createObjectURL(script));
  worker.onmessage = ({ data }) => {
    const done = waiting.get(data.id);
    waiting.delete(data.id);
    if (data.lost) restart();
    if (done) done(data);
  };
  const bytes = Uint8Array.from(atob($("engine").textContent.trim()), (c) => c.charCodeAt(0));
  return send({ load: bytes });
}
function send(message) {
  return new Promise((done) => {
    waiting.set(++sequence, done);
    worker.postMessage({ id: sequence, ...message });
  });
}
const ask = (lines) => send({ ask: Object.entries(lines).map(([k, v]) => k + "=" + v).join("\n") });
// A request that no longer matters would only hold up the next one.
function restart() {
  worker.terminate();
  for (const [id, done] of waiting) { waiting.delete(id); done({ records: [], gone: true }); }
  return start();
}

const chosen = () => {
  const lines = {};
  for (const [name, value] of new FormData(form)) if (value.trim()) lines[name] = value.trim();
  return lines;
};
const all = (records, kind) => records.filter((record) => record[0] === kind);
const one = (records, kind) => (all(records, kind)[0] || [])[1] || "";

async function run() {
  const mine = ++round;
  const lines = chosen();
  history.replaceState(null, "", "#" + new URLSearchParams(changed(lines)));
  describe(lines);
  for (const id of ["figures", "facts", "conclusion"]) $(id).classList.add("old");
  $("status").textContent = "Simulating…";
  if (waiting.size) await restart();
  if (mine !== round) return;
  // One seed first, so that there is something to see at once.
  const first = await ask({ ...lines, what: "run", seeds: 1 });
  if (mine !== round || first.gone) return;
  const error = one(first.records, "error");
  $("error").hidden = !error;
  $("error").textContent = error;
  if (error) { $("status").textContent = "Not simulated."; return; }
  show(first, lines);
  const written = await ask({ ...lines, what: "text" });
  if (mine !== round || written.gone) return;
  texts.toml = one(written.records, "policy");
  texts.rust = one(written.records, "rust");
  texts.scenario = one(written.records, "scenario");
  texts.command = "evenkeel simulate scenario.toml --html report.html\nevenkeel check policy.toml --assert 'recover.p95 < 60s' --assert 'never == 0'";
  tab(shown);
  const whole = await ask({ ...lines, what: "run" });
  if (mine !== round || whole.gone) return;
  show(whole, lines);
  await map(lines, mine, whole.ms);
}

// Ten seconds in a row say whether an outage ends. It is not the engine that says so, which has no
// room for it.
const few = ({ arrivals, rate }) => arrivals !== "closed" && Number(rate) < 1;
const FEW = "Too few calls to judge whether the outage ends: fewer than one a second.";

function show({ records, ms }, lines) {
  const svgs = all(records, "figure");
  $("conclusion").textContent = few(lines) ? FEW : one(records, "conclusion");
  $("facts").replaceChildren(...all(records, "fact").map(([, name, value]) => {
    const box = document.createElement("div");
    box.append(element("dt", name), element("dd", value));
    return box;
  }));
  const old = $("map");
  $("figures").replaceChildren(...svgs.map(figure), ...(old ? [old] : []));
  for (const id of ["figures", "facts", "conclusion"]) $(id).classList.remove("old");
  digest = one(records, "digest");
  $("provenance").textContent = `${VALIDATED} Seeds from 11; record of the first ${digest}.`;
  $("status").textContent = `${Number(one(records, "events")).toLocaleString()} events a run, ${Math.round(ms)} ms.`;
}

async function map(lines, mine) {
  // The engine has no other load of theirs: it is what the server lets it be.
  if (lines.arrivals === "closed") {
    if ($("map")) $("map").remove();
    $("status").textContent = "Ready. Without the recovery map: at other loads calls would come at a rate.";
    return;
  }
  const parts = { ...lines, after: Math.min(Number(lines.after) || 180, 120) };
  let cells = 1;
  for (let cell = 0; cell < cells; cell++) {
    const answer = await ask({ ...parts, what: "cell", cell });
    if (mine !== round || answer.gone) return;
    cells = Number(one(answer.records, "cells")) || 0;
    $("status").textContent = `Recovery map: ${cell + 1} of ${cells} cells.`;
  }
  const drawn = await ask({ ...parts, what: "map" });
  if (mine !== round || drawn.gone) return;
  const old = $("map");
  if (old) old.remove();
  const picture = all(drawn.records, "figure")[0];
  if (picture) $("figures").append(figure(picture));
  $("status").textContent = "Ready.";
}

function figure([, id, title, conclusion, svg]) {
  const box = document.createElement("figure");
  box.id = id;
  const caption = document.createElement("figcaption");
  caption.append(element("h2", title), element("p", conclusion));
  box.append(caption);
  box.insertAdjacentHTML("beforeend", svg);
  return box;
}
function element(name, text) {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}

// The link holds what is not as it was at first.
const first = {};
const changed = (lines) => Object.fromEntries(Object.entries(lines).filter(([k, v]) => first[k] !== v));
function describe(lines) {
  const option = form.elements.preset.selectedOptions[0];
  $("about").textContent = option ? option.dataset.about : "";
  const capacity = (Number(lines.workers) || 10) * 1000 / (Number(lines.service) || 10);
  const load = 100 * (Number(lines.rate) || 0) / capacity;
  $("capacity").textContent = `Serves ${Math.round(capacity)}/s; the load is ${Math.round(load)} %.`;
}
function tab(name) {
  shown = name;
  for (const button of document.querySelectorAll("[role=tab]")) {
    button.setAttribute("aria-selected", String(button.id === "tab-" + name));
  }
  $("text").textContent = texts[name] || "";
}
async function copy(text, button) {
  try { await navigator.clipboard.writeText(text); } catch { $("text").focus(); }
  const name = button.textContent;
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = name; }, 1200);
}

let timer;
const soon = () => {
  $("status").textContent = "Changed…";
  clearTimeout(timer);
  timer = setTimeout(run, 200);
};
form.addEventListener("input", soon);
form.addEventListener("reset", soon);
form.addEventListener("submit", (event) => event.preventDefault());
for (const button of document.querySelectorAll("[role=tab]")) {
  button.addEventListener("click", () => tab(button.id.slice(4)));
}
$("copy").addEventListener("click", () => copy($("text").textContent, $("copy")));
$("share").addEventListener("click", () => copy(location.href, $("share")));
$("theme").addEventListener("click", () => {
  const root = document.documentElement;
  const next = { "": "light", light: "dark", dark: "" }[root.dataset.theme || ""];
  if (next) root.dataset.theme = next; else delete root.dataset.theme;
  $("theme").textContent = "Theme: " + (next || "system");
});

(async () => {
  await start();
  const { records } = await ask({ what: "presets" });
  for (const [, name, about] of all(records, "preset")) {
    const option = new Option(name, name);
    option.dataset.about = about;
    form.elements.preset.append(option);
  }
  Object.assign(first, chosen());
  for (const [name, value] of new URLSearchParams(location.hash.slice(1))) {
    const field = form.elements.namedItem(name);
    if (field) field.value = value;
  }
  await run();
})();
