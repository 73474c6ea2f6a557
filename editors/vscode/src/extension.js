// The extension: a client of `nomos lsp`, and entries of the test explorer.
"use strict";

const vscode = require("vscode");
const { LanguageClient, TransportKind } = require("vscode-languageclient/node");
const { explore } = require("./explorer");

let client;

/** Return how the server is started. */
function serverOptions(python) {
  return { command: python, args: ["-m", "nomos", "lsp"], transport: TransportKind.stdio };
}

/** Start the server, and again when the setting of its Python changes. */
async function activate(context) {
  const start = async () => {
    const python = vscode.workspace.getConfiguration("nomos").get("python");
    client = new LanguageClient("nomos", "Nomos", serverOptions(python), {
      documentSelector: [{ language: "nomos" }],
    });
    try {
      await client.start();
    } catch (error) {
      vscode.window.showErrorMessage(
        `Nomos: ${python} cannot start the language server (${error.message}). ` +
          "Install it with: pip install 'nomos-ml[lsp]', and set `nomos.python`.",
      );
    }
  };
  context.subscriptions.push(
    vscode.workspace.onDidChangeConfiguration(async (event) => {
      if (event.affectsConfiguration("nomos.python")) {
        await deactivate();
        await start();
      }
    }),
  );
  await explore(context);
  await start();
}

/** End the server. */
async function deactivate() {
  const ending = client;
  client = undefined;
  if (ending !== undefined && ending.isRunning()) await ending.stop();
}

module.exports = { activate, deactivate, serverOptions };
