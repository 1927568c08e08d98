import assert from "node:assert/strict";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { platformOf } from "@keelson/contract";
import { buildBundle, type Bundle } from "../src/bundle/build-bundle.ts";
import { packageNameOf } from "../src/bundle/native-packages.ts";
import { placeOfPackage } from "../src/bundle/place-of-package.ts";
import { startAgentSite } from "./agent-site.ts";

const PROJECT = join(import.meta.dirname, "native-project");

test("an import says of which package it is", () => {
  const names = ["sharp", "sharp/lib/a.js", "@img/x/y", "@/lib/a", "./a", "node:fs", "#a", "a:b"].map(
    packageNameOf,
  );
  assert.deepEqual(names, ["sharp", "sharp", "@img/x", null, null, null, "#a", null]);
});

test("a package has the same place in every archive, whoever installed it and where", () => {
  const places = [
    "/anywhere/app/node_modules/sharp/lib/a.js",
    "/anywhere/node_modules/foo/node_modules/bar",
    "/app/node_modules/.pnpm/@img+x@1.0.0/node_modules/@img/x/lib.node",
    "/anywhere/packages/linked/index.js",
  ].map((path) => placeOfPackage(path));
  assert.deepEqual(places, [
    "node_modules/sharp/lib/a.js",
    "node_modules/foo/node_modules/bar",
    "node_modules/@img/x/lib.node",
    null,
  ]);
});

describe("a project with native packages", () => {
  let bundle: Bundle;
  before(async () => {
    bundle = await buildBundle({ directory: PROJECT });
  });

  test("has them in its archive with what they need, and says where it runs", () => {
    const paths = bundle.files.map(({ path }) => path);
    const has = (pattern: RegExp): void =>
      assert.ok(
        paths.some((path) => pattern.test(path)),
        String(pattern),
      );
    has(/^node_modules\/sharp\/package\.json$/);
    has(/^node_modules\/@img\/sharp-libvips-.*\/lib\/libvips-cpp\.(so|dylib)/);
    has(/^node_modules\/@node-rs\/argon2-[a-z0-9-]+\/.*\.node$/);
    has(/^node_modules\/keelson-test-engine\/bin\/engine$/);
    assert.deepEqual(bundle.platform, platformOf(process));
    assert.ok(!paths.some((path) => path.includes("..") || path.startsWith("/")));
    assert.ok(!paths.some((path) => /typescript|@types\//.test(path)), "only what is needed");
  });

  test("keeps a program executable", async () => {
    const engine = bundle.files.find(({ path }) => path.endsWith("bin/engine"));
    assert.equal(engine?.executable, true);
    assert.notEqual((await stat(join(PROJECT, "engine/bin/engine"))).mode & 0o111, 0);
  });

  test("runs on an agent of its own process: sharp, argon2, and a program beside its package", async (t) => {
    const site = await startAgentSite(t);
    const { deployment } = await site.deploy(PROJECT);
    assert.deepEqual(deployment.platform, platformOf(process));
    const outputs = [];
    for (const task of ["picture", "password", "engine"]) {
      const { output, failure } = await site.run(task);
      assert.equal(failure, null, JSON.stringify(failure));
      outputs.push(output);
    }
    assert.deepEqual(outputs, [
      { width: 8, height: 4, format: "png" },
      { right: true, wrong: false },
      "engine: ready?",
    ]);
  });
});
