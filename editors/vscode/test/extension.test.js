"use strict";

const assert = require("node:assert");
const Module = require("node:module");
const { test } = require("node:test");
const { serverCommand, serverSettings } = require("../command");

test("the interpreter of the settings counts, then that of Python's extension", () => {
  const args = ["-m", "tpulint", "server"];
  assert.deepStrictEqual(serverCommand("/a/python", "/b/python"), { command: "/a/python", args });
  assert.deepStrictEqual(serverCommand("", "/b/python"), { command: "/b/python", args });
  assert.deepStrictEqual(serverCommand("", undefined), { command: "tpulint", args: ["server"] });
});

test("empty settings are left to the configuration files", () => {
  const values = new Map([["certainty", ""], ["codeLens", false]]);
  assert.deepStrictEqual(serverSettings(values), { codeLens: false });
});

/** Load the extension with stand-ins for what only the editor has. */
function loaded(editor) {
  const load = Module._load;
  Module._load = (name, ...rest) => {
    if (name === "vscode") return editor.vscode;
    if (name === "vscode-languageclient/node") return { LanguageClient: editor.LanguageClient };
    return load(name, ...rest);
  };
  try {
    delete require.cache[require.resolve("../extension")];
    return require("../extension");
  } finally {
    Module._load = load;
  }
}

function standIn(values) {
  const editor = { clients: [], errors: [], sent: [], commands: {} };
  editor.LanguageClient = class {
    constructor(id, name, server, options) {
      Object.assign(this, { server, options, running: false });
      editor.clients.push(this);
    }
    async start() {
      if (values.get("interpreter") === "broken") throw new Error("no such file");
      this.running = true;
    }
    async stop() { this.running = false; }
    isRunning() { return this.running; }
    async sendNotification(...sent) { editor.sent.push(sent); }
  };
  editor.vscode = {
    commands: { registerCommand: (name, run) => { editor.commands[name] = run; } },
    extensions: { getExtension: () => editor.python },
    window: { showErrorMessage: (words) => editor.errors.push(words) },
    workspace: {
      getConfiguration: () => values,
      onDidChangeConfiguration: (listener) => { editor.changed = listener; },
    },
  };
  return editor;
}

test("it starts the server in Python's own interpreter, restarts it and ends it", async () => {
  const editor = standIn(new Map([["codeLens", true]]));
  const uri = { fsPath: "/venv/bin/python" };
  const environments = {
    getActiveEnvironmentPath: () => ({ path: "x" }),
    resolveEnvironment: async () => ({ executable: { uri } }),
  };
  editor.python = { isActive: false, activate: async () => ({ environments }) };
  const extension = loaded(editor);
  await extension.activate({ subscriptions: [] });
  assert.strictEqual(editor.clients[0].server.command, "/venv/bin/python");
  assert.deepStrictEqual(editor.clients[0].options.initializationOptions, { codeLens: true });
  await editor.changed({ affectsConfiguration: (name) => name === "tpulint" });
  assert.deepStrictEqual(editor.sent, [
    ["workspace/didChangeConfiguration", { settings: { tpulint: { codeLens: true } } }],
  ]);
  await editor.commands["tpulint.restart"]();
  assert.deepStrictEqual(editor.clients.map((each) => each.running), [false, true]);
  await extension.deactivate();
  assert.strictEqual(editor.clients[1].running, false);
});

test("a server that does not start is said", async () => {
  const editor = standIn(new Map([["interpreter", "broken"]]));
  await loaded(editor).activate({ subscriptions: [] });
  assert.match(editor.errors[0], /"broken -m tpulint server" does not start/);
});
