// Stacks of a task host are those that Node makes by its own flag, and maps are read for those who ask.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { promisify } from "node:util";
import { build } from "esbuild";
import { makeTestFolder, removeTestFolder } from "../../server/test/support/test-folder.ts";

const run = promisify(execFile);

const MAP_STACKS = `import { mapStacks } from ${JSON.stringify(import.meta.resolve("../src/host/map-stacks.ts"))}; mapStacks();`;
/** What a host begins with. */
const AS_A_HOST = ["--import", `data:text/javascript,${encodeURIComponent(MAP_STACKS)}`];
const BY_NODE = ["--enable-source-maps"];

const PARTS = `export type Part = { name: string };
export function parse(text: string): unknown {
  return JSON.parse(text);
}
export class Box {
  readonly part: Part;
  constructor(part?: Part) {
    if (part === undefined) throw new TypeError("no part");
    this.part = part;
  }
  static of(part?: Part): Box { return new Box(part); }
  get weight(): number { throw new RangeError("weightless"); }
  async open(): Promise<void> { await null; throw new Error("stuck", { cause: errorOf(() => this.weight) }); }
}
export function errorOf(act: () => unknown): unknown {
  try { return act(); } catch (error) { return error; }
}
`;

const PROGRAM = `import { readFileSync } from "node:fs";
import { Box, errorOf, parse as parsePart } from "./parts.ts";
function parse(text: string): unknown { return parsePart(text); }
const say = (what: string, error: any): void => {
  console.log(what, error.stack, error.cause?.stack);
};
say("a function", errorOf(() => parse("{")));
say("a constructor", errorOf(() => Box.of()));
say("one without a name", errorOf(() => ["{"].map((text) => parsePart(text))));
say("of Node's own", errorOf(() => readFileSync(5.5 as never)));
say("of the system", errorOf(() => readFileSync("/nowhere/at/all")));
say("eval", errorOf(() => eval("parse('{')")));
const bare: { stack?: string } = {};
Error.captureStackTrace(bare);
say("what is no error", bare);
say("a rejection", await new Box({ name: "a" }).open().catch((error) => error));
say("of all", await Promise.all([new Box({ name: "b" }).open()]).catch((error) => error));
`;

/** The program, bundled as a deploy does it. */
async function bundled(t: TestContext, files: Record<string, string>): Promise<string> {
  const place = await makeTestFolder();
  t.after(() => removeTestFolder(place));
  await mkdir(join(place, "src"), { recursive: true });
  for (const [name, text] of Object.entries(files)) await writeFile(join(place, "src", name), text);
  const outfile = join(place, "out/bundle.mjs");
  await build({
    entryPoints: [join(place, "src/program.ts")],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    sourcemap: "linked",
    logLevel: "silent",
  });
  return outfile;
}

test("a stack is the same as with Node's own flag", async (t) => {
  const program = await bundled(t, { "program.ts": PROGRAM, "parts.ts": PARTS });
  const [own, byNode] = await Promise.all(
    [AS_A_HOST, BY_NODE].map(async (flags) => (await run(process.execPath, [...flags, program])).stdout),
  );
  assert.equal(own, byNode);
  assert.match(own ?? "", /at parse \(\/.*src\/parts\.ts:3:/, "not as the bundler calls it");
});

test("a map is read by the first stack, and the code may be without one", async (t) => {
  const later = `export {};
import { rmSync } from "node:fs";
const map = new URL("bundle.mjs.map", import.meta.url);
if (process.argv[2] === "remove") rmSync(map);
console.log(new Error("told").stack?.split("\\n")[1]);
const odd = new Error("odd");
Object.assign(odd, { name: Symbol("odd") });
console.log(odd.stack?.split("\\n")[0]);
`;
  const program = await bundled(t, { "program.ts": later });
  const { stdout } = await run(process.execPath, [...AS_A_HOST, program]);
  assert.match(stdout, /src\/program\.ts:5:13\)\n<error>\n$/, "and what is no text stops nobody");
  assert.match(
    (await run(process.execPath, [...AS_A_HOST, program, "remove"])).stdout,
    /file:\/\/\S+bundle\.mjs:[0-9]+:/,
  );
  await writeFile(`${program}.map`, `{"version":3,"sources":`);
  assert.match((await run(process.execPath, [...AS_A_HOST, program])).stdout, /bundle\.mjs:[0-9]+:/);
  await rm(program);
});

test("code formats stacks by a function of its own, and programs that it forks have mapped ones", async (t) => {
  const own = `import { fork } from "node:child_process";
const usual = Error.prepareStackTrace;
if (process.send === undefined) {
  Error.prepareStackTrace = (_, frames) => frames.length;
  console.log(typeof new Error("counted").stack);
  Error.prepareStackTrace = usual;
  fork(process.argv[1] as string);
}
console.log(new Error("told").stack?.split("\\n")[1]);
`;
  const program = await bundled(t, { "program.ts": own });
  const { stdout } = await run(process.execPath, [...AS_A_HOST, program]);
  const lines = stdout.trim().split("\n");
  assert.equal(lines.shift(), "number");
  assert.equal(lines.length, 2);
  for (const line of lines) assert.match(line, /src\/program\.ts:9:13/);
});
