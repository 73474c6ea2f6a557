// The specs of a workspace as entries of the test explorer.
"use strict";

const vscode = require("vscode");
const { isSpec, run } = require("./running");

const SPECS = "**/*.nom";
const LEFT_OUT = "**/{node_modules,.venv,.git}/**";

/** Fill the test explorer, and keep it so while files come and go. */
async function explore(context) {
  const controller = vscode.tests.createTestController("nomos", "Nomos");
  context.subscriptions.push(controller);
  controller.createRunProfile(
    "Run",
    vscode.TestRunProfileKind.Run,
    (request, token) => runAll(controller, request, token),
    true,
  );
  const watcher = vscode.workspace.createFileSystemWatcher(SPECS);
  watcher.onDidCreate((uri) => add(controller, uri));
  watcher.onDidChange((uri) => add(controller, uri));
  watcher.onDidDelete((uri) => controller.items.delete(uri.toString()));
  context.subscriptions.push(watcher);
  const find = async () => {
    const found = await vscode.workspace.findFiles(SPECS, LEFT_OUT);
    await Promise.all(found.map((uri) => add(controller, uri)));
  };
  controller.refreshHandler = find;
  await find();
  return controller;
}

async function add(controller, uri) {
  const text = Buffer.from(await vscode.workspace.fs.readFile(uri)).toString("utf8");
  if (!isSpec(text)) {
    controller.items.delete(uri.toString());
    return;
  }
  const label = uri.path.split("/").pop().replace(/\.nom$/, "");
  const item = controller.createTestItem(uri.toString(), label, uri);
  item.description = vscode.workspace.asRelativePath(uri);
  controller.items.add(item);
}

async function runAll(controller, request, token) {
  const run_ = controller.createTestRun(request);
  const left = new Set((request.exclude ?? []).map((item) => item.id));
  const items = request.include ? [...request.include] : all(controller);
  for (const item of items.filter((item) => !left.has(item.id))) {
    if (token.isCancellationRequested) {
      run_.skipped(item);
    } else {
      await runOne(run_, item, token);
    }
  }
  run_.end();
}

function all(controller) {
  const items = [];
  controller.items.forEach((item) => items.push(item));
  return items;
}

async function runOne(run_, item, token) {
  const settings = vscode.workspace.getConfiguration("nomos", item.uri);
  const folder = vscode.workspace.getWorkspaceFolder(item.uri);
  run_.started(item);
  const began = Date.now();
  const found = await run(
    settings.get("python"),
    item.uri.fsPath,
    settings.get("runArguments"),
    folder && folder.uri.fsPath,
    (end) => token.onCancellationRequested(end),
  );
  const messages = found.messages.map(({ text, line }) => {
    const message = new vscode.TestMessage(text);
    if (line !== undefined) {
      message.location = new vscode.Location(item.uri, new vscode.Position(line, 0));
    }
    return message;
  });
  if (found.state === "passed") run_.passed(item, Date.now() - began);
  else run_[found.state](item, messages, Date.now() - began);
}

module.exports = { explore };
