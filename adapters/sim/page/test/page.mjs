// Drives the page in headless Chromium, from a file, and keeps screenshots.
//
//   node page.mjs PAGE CHROMIUM FOLDER
//
// Prints one line for each check; fails if any does.
import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [file, executablePath, folder] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
let passed = 0, failed = 0;
const check = (name, holds, got) => {
  if (holds) passed += 1; else failed += 1;
  console.log(`${holds ? "ok     " : "FAILED "} ${name}${holds ? "" : `: ${got}`}`);
};

const browser = await chromium.launch({
  executablePath,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
const page = await browser.newPage({ viewport: { width: 1320, height: 900 } });
const complaints = [];
page.on("console", (message) => { if (message.type() === "error") complaints.push(message.text()); });
page.on("pageerror", (error) => complaints.push(String(error)));
const requests = [];
page.on("request", (request) => { if (!/^(file|blob|data):/.test(request.url())) requests.push(request.url()); });

const url = pathToFileURL(file).href;
const conclusion = () => page.locator("#conclusion").textContent();
const figures = () => page.locator("#figures figure").evaluateAll((all) => all.map((one) => one.id));
const rest = () => page.waitForFunction(() => /Ready|Not simulated/.test(document.querySelector("#status").textContent), null, { timeout: 300000 });
const drawn = () => page.waitForFunction(() => document.querySelectorAll("#figures:not(.old) svg").length >= 5, null, { timeout: 180000 });
const keep = async (name) => {
  const path = join(folder, name + ".png");
  const bytes = await page.screenshot({ path, fullPage: true });
  check(`screenshot ${name} is not empty`, bytes.length > 20000, `${statSync(path).size} bytes`);
};

await page.goto(url);
await drawn();
check("the first plots do not wait for the map", (await figures()).length >= 5, await figures());
await rest();
check("the default outage has a conclusion", /load/.test(await conclusion()), await conclusion());
check("all six plots are drawn", (await figures()).join() === "rates,delay,guards,herd,call,map", await figures());
check("every plot has its axes named", await page.locator("#figures svg .unit").count() === 12, await page.locator("#figures svg .unit").count());
await keep("default-light");

// Another policy, another end.
await page.selectOption("[name=preset]", "naive");
await page.fill("[name=after]", "120");
await rest();
check("the naive policy never recovers", /does not end by itself/.test(await conclusion()), await conclusion());
check("the link says so", page.url().includes("preset=naive"), page.url());
await keep("naive-light");

// Each input changes something that is shown.
const shown = () => page.evaluate(() => document.querySelector("#facts").textContent + document.querySelector("#provenance").textContent);
const changes = {
  attempts: "2", initial: "500", timeout: "500", deadline: "1500", length: "12", clients: "40",
  rate: "500", layers: "2", workers: "8", service: "12", queue: "200",
};
for (const field of ["retry", "server"]) void field;
await page.evaluate(() => document.querySelectorAll("details").forEach((one) => { one.open = true; }));
for (const [name, value] of Object.entries(changes)) {
  const before = await shown();
  await page.fill(`[name=${name}]`, value);
  const differs = await page.waitForFunction((was) => document.querySelector("#facts").textContent + document.querySelector("#provenance").textContent !== was, before, { timeout: 180000 }).then(() => true, () => false);
  check(`${name} changes the outcome`, differs, "nothing changed");
}
for (const [name, value] of Object.entries({ jitter: "full", budget: "success", breaker: "share", fault: "fail-fast", law: "constant", order: "lifo", arrivals: "closed" })) {
  const before = await shown();
  await page.selectOption(`[name=${name}]`, value);
  const differs = await page.waitForFunction((was) => document.querySelector("#facts").textContent + document.querySelector("#provenance").textContent !== was, before, { timeout: 180000 }).then(() => true, () => false);
  check(`${name} changes the outcome`, differs, "nothing changed");
}
// What was chosen last is simulated a moment later; until then "Ready" is said of what was before it.
await page.waitForFunction(() => /Without the recovery map/.test(document.querySelector("#status").textContent), null, { timeout: 300000 }).catch(() => {});
check("clients that think have no map", (await figures()).join() === "rates,delay,guards,herd,call", await figures());

// What is absurd is refused in words, and what comes after works.
for (const [name, value] of Object.entries({ clients: "-1", rate: "a million", workers: "0", length: "1e99", service: "99999999999999999", seeds: "0" })) {
  await page.goto(url);
  await page.reload();
  await drawn();
  await page.fill(`[name=${name}]`, value);
  if (name === "seeds") { await rest(); check("no seeds are one seed", await page.locator("#error").isHidden(), "refused"); continue; }
  await page.waitForFunction(() => !document.querySelector("#error").hidden, null, { timeout: 60000 }).catch(() => {});
  const error = await page.locator("#error").textContent();
  check(`${name} = ${value} is refused in words`, error.startsWith(name + ":"), error);
}

// A link brings everything back; the keyboard reaches everything; small and dark.
await page.goto(url + "#preset=kit&fault=black-hole&length=20");
await page.reload();
await rest();
check("a link brings the choice back", await page.inputValue("[name=preset]") === "kit" && await page.inputValue("[name=length]") === "20");
await page.locator("[name=preset]").focus();
await page.keyboard.press("Tab");
check("the keyboard moves on", await page.evaluate(() => document.activeElement.tagName) !== "BODY");
for (const [name, mark] of Object.entries({ toml: "[retry]", scenario: "[fleet]", rust: "RetryPolicy", command: "evenkeel check" })) {
  await page.locator("#tab-" + name).press("Enter");
  check(`the ${name} can be taken along`, (await page.locator("#text").textContent()).includes(mark));
}
await page.locator("#theme").click();
await page.locator("#theme").click();
const paper = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
check("the page is dark when told to", paper === "rgb(18, 23, 29)", paper);
await keep("kit-dark");
await page.setViewportSize({ width: 390, height: 800 });
const wide = await page.evaluate(() => document.documentElement.scrollWidth);
check("a small screen needs no scrolling sideways", wide <= 390, wide);
await keep("kit-small");

check("nothing was complained about", complaints.length === 0, complaints.join("; "));
check("nothing was fetched from anywhere", requests.length === 0, requests.join("; "));
await browser.close();
console.log(`${passed} of ${passed + failed} hold`);
process.exit(failed ? 1 : 0);
