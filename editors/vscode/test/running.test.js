// What the test explorer says of a run, and a run of a real `nomos` (NOMOS_PYTHON).
"use strict";

const assert = require("node:assert");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const test = require("node:test");
const { isSpec, outcome, run } = require("../src/running");

const PYTHON = process.env.NOMOS_PYTHON ?? "python3";
const DOMAIN = `
import numpy as np
from nomos import Domain, Schema, batched
from nomos.domain import Integer


class Numbers(Domain):
    schema = Schema(Integer("number", 0, 9))

    def inputs(self):
        return np.arange(10.0)[:, None]

    @batched
    def predict(self, rows):
        return -rows[:, 0]
`;
const SPEC = `# Larger numbers get smaller answers.
import numbers_domain;
input x1;
var x2 := x1[number := x1.number + 1];
output d1;
output d2;
{
  d1 = predict(x1)
  d2 = predict(x2)
}
ensures d1 >= d2;
`;

function document(verdict, more = {}) {
  const one = { text: "a <= b", line: 7, violations: 3, unique_bugs: 2 };
  const result = { property: "p", verdict, problem: "", passed: 7, violations: 3, ensures: [one] };
  return JSON.stringify({ schema: 2, runs: [{ ...result, ...more }], failures: [] });
}

test("only a clean verdict passes", () => {
  assert.strictEqual(outcome(0, document("none-found"), "").state, "passed");
  assert.strictEqual(outcome(0, document("holds"), "").state, "passed");
  assert.strictEqual(outcome(3, document("failed"), "").state, "errored");
  assert.strictEqual(outcome(0, document("holds", { problem: "1 case crashed" }), "").state, "errored");
  assert.strictEqual(outcome(3, document("none-found"), "").state, "errored");
  assert.strictEqual(outcome(0, '{"runs": [], "failures": []}', "").state, "errored");
  assert.strictEqual(outcome(2, "", "error: no such file").messages[0].text, "error: no such file");
});

test("a violation is told at the line of its ensures", () => {
  const found = outcome(1, document("violated"), "");
  assert.strictEqual(found.state, "failed");
  assert.strictEqual(found.messages[0].line, 6);
  assert.match(found.messages[0].text, /`a <= b` does not hold in 3 of 10 cases; 2 bugs/);
});

test("files of params and definitions are no specs", () => {
  assert.ok(isSpec(SPEC));
  assert.ok(!isSpec("# the input of all\nparam eps := 0.1;\n"));
});

test("a real run", async (t) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "nomos-"));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  fs.writeFileSync(path.join(folder, "pyproject.toml"), "");
  fs.writeFileSync(path.join(folder, "numbers_domain.py"), DOMAIN);
  const spec = (name, text) => {
    fs.writeFileSync(path.join(folder, name), text);
    return run(PYTHON, path.join(folder, name), [], folder, () => {});
  };
  assert.deepStrictEqual(await spec("falls.nom", SPEC), { state: "passed", messages: [] });
  const rises = await spec("rises.nom", SPEC.replace("d1 >= d2", "d1 <= d2"));
  assert.strictEqual(rises.state, "failed");
  assert.strictEqual(rises.messages[0].line, 10);
  const wrong = await spec("wrong.nom", SPEC.replace("d1 >= d2", "d1 >= d3"));
  assert.strictEqual(wrong.state, "errored");
  assert.ok(wrong.messages[0].text.length > 0);
  const missing = await run("no-such-python", "a.nom", [], folder, () => {});
  assert.match(missing.messages[0].text, /no-such-python cannot be run/);
});
