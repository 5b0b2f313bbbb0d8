// The editor of the playground, its report, and links that contain a program.
const element = (name) => document.getElementById(`playground-${name}`);
const WAIT = 400; // milliseconds without a key before the program is checked
const MARKED = /program\.py:(\d+)(?::(\d+))?|\bTPU\d{3}\b/g; // places and rules

const source = element("source");
const status = element("status");
const worker = new Worker(new URL("worker.mjs", import.meta.url), { type: "module" });
let number = 0;
let timer;

function check() {
  number += 1;
  status.textContent = "Checking …";
  worker.postMessage({
    number,
    source: source.value,
    columns: columns(),
    possible: element("possible").checked,
    performance: element("performance").checked,
  });
}

// How many letters fit into a line of the report.
function columns() {
  const report = element("report");
  const letters = document.createElement("span");
  letters.textContent = "x".repeat(100);
  const shown = [...report.childNodes];
  report.replaceChildren(letters);
  const width = letters.getBoundingClientRect().width / 100;
  const style = getComputedStyle(report);
  const room = report.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
  report.replaceChildren(...shown);
  return Math.max(40, Math.min(160, Math.floor(room / width)));
}

worker.onmessage = ({ data }) => {
  if (data.number !== number) return; // the program has changed since
  status.textContent = data.error ?? "";
  if (!data.error) show(data.report, data.picture);
};
worker.onerror = (event) => {
  status.textContent = `The analyzer cannot be loaded: ${event.message ?? "see the console"}`;
};

function show(report, picture) {
  const parts = [];
  let end = 0;
  for (const match of report.matchAll(MARKED)) {
    parts.push(report.slice(end, match.index), match[1] ? place(match) : rule(match[0]));
    end = match.index + match[0].length;
  }
  element("report").replaceChildren(...parts, report.slice(end));
  const image = document.createElement("img");
  image.alt = "The map of the program: device, host, and what crosses between them";
  image.src = `data:image/svg+xml,${encodeURIComponent(picture)}`;
  element("map").replaceChildren(...(picture ? [image] : []));
}

function place([text, row, column]) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = text;
  button.addEventListener("click", () => select(Number(row), Number(column ?? 1)));
  return button;
}

function rule(code) {
  const link = document.createElement("a");
  link.href = `../rules/${code}/`;
  link.textContent = code;
  return link;
}

function select(row, column) {
  const rows = source.value.split("\n");
  const start = rows.slice(0, row - 1).reduce((sum, text) => sum + text.length + 1, 0);
  source.focus();
  source.setSelectionRange(start + column - 1, start + rows[row - 1].length);
  source.scrollTop = ((row - 3) / rows.length) * source.scrollHeight;
}

// A link holds the program, compressed, after the "#".
async function packed(text) {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const letters = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

async function unpacked(link) {
  const letters = atob(link.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Response(stream).text();
}

element("share").addEventListener("click", async () => {
  history.replaceState(null, "", `#program=${await packed(source.value)}`);
  await navigator.clipboard?.writeText(location.href).catch(() => {});
  status.textContent = "The address of this page is the link.";
});

async function load(name) {
  source.value = await (await fetch(new URL(`programs/${name}`, import.meta.url))).text();
  check();
}

const programs = await (await fetch(new URL("programs.json", import.meta.url))).json();
element("program").replaceChildren(...programs.map((name) => new Option(name, name)));
element("program").addEventListener("change", (event) => load(event.target.value));
for (const name of ["possible", "performance"]) element(name).addEventListener("change", check);
source.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(check, WAIT);
});

const link = new URLSearchParams(location.hash.slice(1)).get("program");
const shared = link && (await unpacked(link).catch(() => null));
if (shared) {
  source.value = shared;
  check();
} else {
  if (link) status.textContent = "The link is damaged.";
  await load(programs[0]);
}
