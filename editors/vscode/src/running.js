// Run specs with `nomos run --json -`, and say what became of each.
"use strict";

const { spawn } = require("node:child_process");

/** Return the program and its arguments that run a spec. */
function command(python, file, more) {
  return { program: python, arguments: ["-m", "nomos", "run", "--quiet", "--json", "-", ...more, file] };
}

/** Return what a test explorer shows of a spec: only a clean verdict passes. */
function outcome(status, output, errors) {
  let document;
  try {
    document = JSON.parse(output);
  } catch {
    const said = errors.trim() || `nomos ended with status ${status}`;
    return { state: "errored", messages: [{ text: said }] };
  }
  const messages = document.failures.map((failure) => ({ text: failure.error }));
  for (const run of document.runs) {
    if (run.verdict === "violated") messages.push(...violations(run));
    if (run.verdict === "failed" || run.problem) {
      messages.push({ text: run.problem || `${run.property} was not evaluated` });
    }
  }
  const violated = document.runs.some((run) => run.verdict === "violated");
  if (status === 0 && document.runs.length > 0 && messages.length === 0) {
    return { state: "passed", messages: [] };
  }
  if (messages.length === 0) messages.push({ text: `nomos ended with status ${status}` });
  return { state: status === 1 && violated ? "failed" : "errored", messages };
}

/** Return a message for each `ensures` that does not hold, at its line. */
function violations(run) {
  return run.ensures
    .filter((one) => one.violations > 0)
    .map((one) => ({
      text:
        `\`${one.text}\` does not hold in ${one.violations} of ${run.passed + run.violations} cases; ` +
        `${one.unique_bugs} bugs: \`nomos bugs ${run.property}\` lists them`,
      line: one.line - 1,
    }));
}

/** Run a spec; `cancelled` is called with a function that ends it. */
function run(python, file, more, folder, cancelled) {
  const { program, arguments: given } = command(python, file, more);
  return new Promise((resolve) => {
    const child = spawn(program, given, { cwd: folder });
    let output = "";
    let errors = "";
    child.stdout.on("data", (data) => (output += data));
    child.stderr.on("data", (data) => (errors += data));
    child.on("error", (error) =>
      resolve({ state: "errored", messages: [{ text: `${program} cannot be run: ${error.message}` }] }),
    );
    child.on("close", (status) => resolve(outcome(status, output, errors)));
    cancelled(() => child.kill("SIGINT"));
  });
}

/** Tell whether a text is a spec to run: a file of params and definitions has no input. */
function isSpec(text) {
  return /^\s*input\s+\w/m.test(text);
}

module.exports = { command, outcome, run, isSpec };
