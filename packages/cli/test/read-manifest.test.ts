import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { relative, resolve } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const packages = resolve(import.meta.dirname, "../..");

/** Reads a manifest, and prints which modules that took. */
const READ = `
import { registerHooks } from "node:module";
const loaded = [];
registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) });
const { readManifest } = await import(process.argv[1]);
const bytes = new TextEncoder().encode("export const keelson = { manifest: () => ({ tasks: [{ id: 'a' }] }) };");
const manifest = await readManifest({ entry: "bundle.mjs", files: [{ path: "bundle.mjs", bytes, executable: false }] });
console.log(JSON.stringify({ manifest, loaded }));
`;

test("a manifest is read without loading the agent", async () => {
  const module = resolve(packages, "cli/src/bundle/read-manifest.ts");
  const { stdout } = await promisify(execFile)(process.execPath, [
    ...["--conditions=@keelson/source", "--input-type=module", "--eval", READ, module],
  ]);
  const { manifest, loaded } = JSON.parse(stdout) as { manifest: unknown; loaded: string[] };
  assert.deepEqual(manifest, { tasks: [{ id: "a" }] });
  const ofAgent = loaded
    .filter((url) => url.startsWith("file:"))
    .map((url) => relative(packages, fileURLToPath(url)))
    .filter((path) => path.startsWith("agent/"));
  assert.deepEqual(ofAgent, ["agent/src/deaths/served-time.ts"]);
});
