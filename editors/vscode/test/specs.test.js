// The grammar on every spec of the case studies, with VS Code's own engine and the
// Python grammar: nothing is invalid, and only the block is Python.
"use strict";

const assert = require("node:assert");
const fs = require("node:fs");
const path = require("node:path");
const test = require("node:test");
const oniguruma = require("vscode-oniguruma");
const { INITIAL, Registry, parseRawGrammar } = require("vscode-textmate");

const ROOT = path.resolve(__dirname, "../../..");
const GRAMMARS = {
  "source.nomos": path.join(__dirname, "../syntaxes/nomos.tmLanguage.json"),
  "source.python": require.resolve("tm-grammars/grammars/python.json"),
};
const STATEMENT = /^(import|use|param|def|input|var|requires|output|ensures)\b/;

async function grammar() {
  const wasm = path.join(path.dirname(require.resolve("vscode-oniguruma")), "onig.wasm");
  await oniguruma.loadWASM(fs.readFileSync(wasm));
  const registry = new Registry({
    onigLib: Promise.resolve({
      createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
      createOnigString: (text) => new oniguruma.OnigString(text),
    }),
    loadGrammar: async (scope) =>
      scope in GRAMMARS
        ? parseRawGrammar(fs.readFileSync(GRAMMARS[scope], "utf8"), GRAMMARS[scope])
        : null,
  });
  return registry.loadGrammar("source.nomos");
}

const specs = fs
  .readdirSync(path.join(ROOT, "casestudies"), { recursive: true })
  .filter((name) => name.endsWith(".nom"))
  .map((name) => path.join(ROOT, "casestudies", name));

test("there are specs to read", () => assert.ok(specs.length >= 30));

test("every spec", async (t) => {
  const read = await grammar();
  for (const spec of specs) {
    await t.test(path.relative(ROOT, spec), () => {
      let state = INITIAL;
      let inside = false;
      const seen = new Set();
      for (const line of fs.readFileSync(spec, "utf8").split("\n")) {
        const { tokens, ruleStack } = read.tokenizeLine(line, state);
        state = ruleStack;
        const scopes = tokens.map((token) => token.scopes.join(" "));
        for (const scope of scopes) assert.doesNotMatch(scope, /invalid/, line);
        if (line === "}") inside = false;
        const embedded = scopes.some((scope) => scope.includes("meta.embedded.block.python"));
        assert.strictEqual(embedded, inside && line !== "", line);
        const word = STATEMENT.exec(line);
        if (word && !inside) {
          assert.match(scopes[0], /keyword\.control/, line);
          seen.add(word[1]);
        }
        if (line === "{") inside = true;
      }
      for (const word of ["input", "output", "ensures"]) assert.ok(seen.has(word), word);
    });
  }
});
