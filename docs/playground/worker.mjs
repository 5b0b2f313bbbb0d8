// Runs the analyzer, so that the page answers while a program is checked.
import { loadPyodide } from "./pyodide/pyodide.mjs";

async function begin() {
  const [pyodide, packages, script] = await Promise.all([
    loadPyodide({ indexURL: new URL("pyodide/", import.meta.url).href }),
    fetched("packages.zip").then((answer) => answer.arrayBuffer()),
    fetched("check.py").then((answer) => answer.text()),
  ]);
  pyodide.unpackArchive(packages, "zip", { extractDir: "/packages" });
  pyodide.runPython("import sys; sys.path.insert(0, '/packages')");
  pyodide.runPython(script);
  return pyodide.globals.get("check");
}

async function fetched(name) {
  const answer = await fetch(new URL(name, import.meta.url));
  if (!answer.ok) throw new Error(`${name}: ${answer.status}`);
  return answer;
}

const ready = begin();

onmessage = async ({ data: { number, source, columns, possible, performance } }) => {
  try {
    const check = await ready;
    postMessage({ number, ...JSON.parse(check(source, columns, possible, performance)) });
  } catch (error) {
    postMessage({ number, error: String(error) });
  }
};
