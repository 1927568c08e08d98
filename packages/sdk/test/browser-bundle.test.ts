import assert from "node:assert/strict";
import { resolve } from "node:path";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

/** What a page loads of an entry. Fails where it takes anything of Node, a schema library or the code of tasks. */
async function bundleOf(entry: string): Promise<Uint8Array> {
  const { metafile, outputFiles } = await build({
    entryPoints: [resolve(import.meta.dirname, "../src", entry)],
    bundle: true,
    platform: "browser",
    format: "esm",
    conditions: ["@keelson/source"],
    metafile: true,
    minify: true,
    write: false,
    // An import of Node, or of what is not there, fails the build.
    logLevel: "silent",
  });
  const inputs = Object.keys(metafile.inputs);
  assert.deepEqual(
    inputs.filter((path) => /typebox|standard-schema|sdk\/src\/(runtime|task)|schemas\//.test(path)),
    [],
  );
  assert.deepEqual(
    Object.values(metafile.outputs).flatMap(({ imports }) => imports),
    [],
  );
  const [output] = outputFiles;
  assert.ok(output !== undefined);
  // Asked of the running process, and absent in a page.
  assert.doesNotMatch(output.text.replaceAll(/"node:https?"/g, ""), /node:|require\(|\bBuffer\.from/);
  return output.contents;
}

test("the browser entry takes nothing of Node, no schema library and not the rest of the client", async () => {
  const { length } = await bundleOf("browser.ts");
  assert.ok(length < 24 * 1024, String(length));
});

test("files are an entry of their own, which a page without files does not load", async () => {
  const { length } = await bundleOf("browser-files.ts");
  assert.ok(length < 16 * 1024, String(length));
  assert.doesNotMatch(new TextDecoder().decode(await bundleOf("browser.ts")), /session\.files\./);
});

test("the hooks of React are 12 kB at most, without React", async () => {
  const { outputFiles } = await build({
    entryPoints: [resolve(import.meta.dirname, "../src/react.ts")],
    ...{ bundle: true, platform: "browser", format: "esm", minify: true, write: false },
    external: ["react"],
    conditions: ["@keelson/source"],
    logLevel: "silent",
  });
  const bytes = gzipSync(outputFiles[0]?.contents ?? "").length;
  assert.ok(bytes > 1_000 && bytes <= 12_000, String(bytes));
});
