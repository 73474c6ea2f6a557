// Activation, with a stand-in for the editor; `make vscode-headless` has a real one. The
// server and the library that talks to it are the real ones here, too.
"use strict";

const assert = require("node:assert");
const { spawn } = require("node:child_process");
const Module = require("node:module");
const test = require("node:test");
const rpc = require("vscode-jsonrpc/node");

const PYTHON = process.env.NOMOS_PYTHON ?? "python3";
const manifest = require("../package.json");

const uri = (file) => ({ path: file, fsPath: file, toString: () => `file://${file}` });
const files = {
  "/project/income.nom": "import loans;\ninput x1;\n",
  "/project/common.nom": "param eps := 0.1;\n",
};
const events = { clients: [], items: new Map(), profiles: [], subscriptions: [], errors: [] };
const settings = { python: PYTHON, runArguments: [] };

const vscode = {
  TestRunProfileKind: { Run: 1 },
  window: { showErrorMessage: (text) => events.errors.push(text) },
  tests: {
    createTestController: () => ({
      items: {
        add: (item) => events.items.set(item.id, item),
        delete: (id) => events.items.delete(id),
        forEach: (visit) => events.items.forEach(visit),
      },
      createRunProfile: (name) => events.profiles.push(name),
      createTestItem: (id, label, at) => ({ id, label, uri: at }),
    }),
  },
  workspace: {
    getConfiguration: () => ({ get: (name) => settings[name] }),
    asRelativePath: (at) => at.path.replace("/project/", ""),
    findFiles: async () => Object.keys(files).map(uri),
    fs: { readFile: async (at) => Buffer.from(files[at.path]) },
    onDidChangeConfiguration: (listener) => {
      events.configured = listener;
      return {};
    },
    createFileSystemWatcher: () => ({
      onDidCreate: (listener) => (events.created = listener),
      onDidChange: () => {},
      onDidDelete: (listener) => (events.deleted = listener),
    }),
  },
};

class Client {
  constructor(id, name, server, options) {
    Object.assign(this, { id, server, options, running: false });
    events.clients.push(this);
  }
  async start() {
    if (this.server.command === "broken") throw new Error("no such file");
    this.running = true;
  }
  isRunning() {
    return this.running;
  }
  async stop() {
    this.running = false;
  }
}

const stands = {
  vscode,
  "vscode-languageclient/node": { LanguageClient: Client, TransportKind: { stdio: 0 } },
};
const load = Module._load;
Module._load = (name, ...rest) => stands[name] ?? load(name, ...rest);
const extension = require("../src/extension");
Module._load = load;

test("activation starts the server and lists the specs", async () => {
  await extension.activate({ subscriptions: events.subscriptions });
  const [client] = events.clients;
  assert.ok(client.running);
  assert.deepStrictEqual(client.options.documentSelector, [{ language: "nomos" }]);
  assert.deepStrictEqual([client.server.command, ...client.server.args], [PYTHON, "-m", "nomos", "lsp"]);
  assert.deepStrictEqual([...events.items.values()].map((item) => item.label), ["income"]);
  assert.deepStrictEqual(events.profiles, ["Run"]);
});

test("specs that come and go are listed so", async () => {
  files["/project/new.nom"] = "input x1;\n";
  await events.created(uri("/project/new.nom"));
  assert.ok(events.items.has("file:///project/new.nom"));
  events.deleted(uri("/project/new.nom"));
  assert.ok(!events.items.has("file:///project/new.nom"));
});

test("another Python starts another server; one that cannot is told", async () => {
  const [before] = events.clients;
  settings.python = "broken";
  await events.configured({ affectsConfiguration: (name) => name === "nomos.python" });
  assert.ok(!before.running);
  assert.match(events.errors[0], /broken cannot start the language server/);
  await extension.deactivate();
});

test("what is declared is there", () => {
  const [language] = manifest.contributes.languages;
  const [grammar] = manifest.contributes.grammars;
  for (const file of [language.configuration, grammar.path]) require(`../${file}`);
  assert.strictEqual(require(`../${grammar.path}`).scopeName, grammar.scopeName);
});

test("the server answers the library of the client", async () => {
  const { command, args } = extension.serverOptions(PYTHON);
  const child = spawn(command, [...args, "--stdio"], { stdio: ["pipe", "pipe", "inherit"] });
  const connection = rpc.createMessageConnection(
    new rpc.StreamMessageReader(child.stdout),
    new rpc.StreamMessageWriter(child.stdin),
  );
  const told = new Promise((resolve) =>
    connection.onNotification("textDocument/publishDiagnostics", resolve),
  );
  connection.listen();
  const given = { processId: null, rootUri: null, capabilities: {} };
  const { capabilities } = await connection.sendRequest("initialize", given);
  assert.ok(capabilities.completionProvider);
  connection.sendNotification("initialized", {});
  const text = "input x1;\noutput d1;\n{\n  d1 = f(x1)\n}\nensures d1 = 2;\n";
  const textDocument = { uri: "file:///a.nom", languageId: "nomos", version: 1, text };
  connection.sendNotification("textDocument/didOpen", { textDocument });
  assert.strictEqual((await told).diagnostics[0].code, "single-equals");
  await connection.sendRequest("shutdown");
  connection.sendNotification("exit");
  await new Promise((resolve) => child.on("close", resolve));
  connection.dispose();
});
