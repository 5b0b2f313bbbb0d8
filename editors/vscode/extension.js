"use strict";

const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");
const { serverCommand, serverSettings } = require("./command");

const SECTION = "tpulint";
const LANGUAGE = "python";

let client;

/** Return the path of the Python extension's interpreter, if there is one. */
async function interpreter() {
  const extension = vscode.extensions.getExtension("ms-python.python");
  if (!extension) return undefined;
  const api = extension.isActive ? extension.exports : await extension.activate();
  const path = api?.environments?.getActiveEnvironmentPath?.();
  const found = path && (await api.environments.resolveEnvironment(path));
  return found?.executable?.uri?.fsPath;
}

function configuration() {
  return vscode.workspace.getConfiguration(SECTION);
}

async function start() {
  const run = serverCommand(configuration().get("interpreter"), await interpreter());
  client = new LanguageClient(SECTION, "tpulint", run, {
    documentSelector: [{ scheme: "file", language: LANGUAGE },
      { scheme: "untitled", language: LANGUAGE },
      { scheme: "vscode-notebook-cell", language: LANGUAGE }],
    initializationOptions: serverSettings(configuration()),
  });
  try {
    await client.start();
  } catch (error) {
    const words = [run.command, ...run.args].join(" ");
    vscode.window.showErrorMessage(
      `tpulint: "${words}" does not start: is tpulint[lsp] installed there? (${error.message})`,
    );
  }
}

async function stop() {
  const ending = client;
  client = undefined;
  if (ending?.isRunning()) await ending.stop();
}

async function restart() {
  await stop();
  await start();
}

async function activate(context) {
  context.subscriptions.push(
    vscode.commands.registerCommand("tpulint.restart", restart),
    vscode.workspace.onDidChangeConfiguration(async (event) => {
      if (event.affectsConfiguration(`${SECTION}.interpreter`)) {
        await restart();
      } else if (event.affectsConfiguration(SECTION) && client?.isRunning()) {
        await client.sendNotification("workspace/didChangeConfiguration", {
          settings: { [SECTION]: serverSettings(configuration()) },
        });
      }
    }),
  );
  await start();
}

module.exports = { activate, deactivate: stop };
