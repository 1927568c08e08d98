import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, test } from "node:test";
import { baseOperation } from "../../src/http/openapi/sdk-samples.ts";
import { operations } from "./support/document.ts";
import { runSample, startExampleServer } from "./support/example-server.ts";

const root = path.resolve(import.meta.dirname, "../../../..");

const samplesOf = (lang: string) =>
  operations.flatMap(({ name, operation }) =>
    operation["x-codeSamples"]
      .filter((sample: { lang: string }) => sample.lang === lang)
      .map(({ source }: { source: string }) => ({ name, id: operation.operationId as string, source })),
  );
const typescript = samplesOf("TypeScript");

describe("every operation of the OpenAPI document", () => {
  test("says in a sentence or more what it does", () => {
    for (const { name, operation } of operations) {
      assert.ok(operation.summary.length >= 5, `${name} has no summary`);
      assert.ok((operation.description ?? "").length >= 20, `${name} has no description`);
    }
  });

  test("has a command for a shell, which calls it with its example", () => {
    for (const { name, path: template, method, operation } of operations) {
      const { source } = operation["x-codeSamples"][0];
      const [, asked, url] = /^curl -sS(?: -X (\w+))? "\$KEELSON_URL([^"?]*)/.exec(source) ?? [];
      assert.ok(url, `${name}: ${source}`);
      const sends = / -d '| --data-binary /.test(source.replaceAll("\n", ""));
      assert.equal(asked ?? (sends ? "POST" : "GET"), method, source);
      const pattern = new RegExp(`^${template.replaceAll(/\{\w+\}/g, "[^/]+").replaceAll(".", "\\.")}$`);
      assert.match(url, pattern, name);
      const [, json] = / -d '(.*)'$/s.exec(source) ?? [];
      const body = operation.requestBody?.content["application/json"];
      if (json !== undefined)
        assert.deepEqual(JSON.parse(json.replaceAll(String.raw`'\''`, "'")), body.example, name);
      else if (body !== undefined) assert.deepEqual(body.example, {}, `${name} sends no body`);
      assert.equal(source.includes("Authorization: Bearer $"), operation.security.length > 0, name);
    }
  });

  test("has an example for each parameter that must be given", () => {
    for (const { name, operation } of operations)
      for (const parameter of operation.parameters)
        if (parameter.required === true) assert.ok("example" in parameter, `${name}: ${parameter.name}`);
  });
});

describe("the samples of the SDK", () => {
  test("compile, each as a file of its own", async () => {
    assert.ok(typescript.length > 100, `only ${typescript.length} samples`);
    const folder = await mkdtemp(path.join(tmpdir(), "keelson-samples-"));
    try {
      for (const { id, source } of typescript) await writeFile(path.join(folder, `${id}.ts`), source);
      await writeFile(path.join(folder, "package.json"), '{"type":"module"}');
      const compilerOptions = {
        types: ["node"],
        typeRoots: [path.join(root, "node_modules/@types")],
        paths: {
          "@keelson/sdk": [path.join(root, "packages/sdk/src/index.ts")],
          "@keelson/sdk/browser": [path.join(root, "packages/sdk/src/browser.ts")],
        },
        noEmit: true,
        composite: false,
        incremental: false,
        noUnusedLocals: false,
      };
      const config = { extends: path.join(root, "tsconfig.base.json"), compilerOptions, include: ["*.ts"] };
      await writeFile(path.join(folder, "tsconfig.json"), JSON.stringify(config));
      const compiler = path.join(root, "node_modules/typescript/bin/tsc");
      const { status, stdout } = spawnSync(process.execPath, [compiler, "-p", folder], { encoding: "utf8" });
      assert.equal(status, 0, stdout);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  test("call the operation that they stand with", async () => {
    await using server = await startExampleServer();
    const wrong: string[] = [];
    for (const { name, id, source } of typescript) {
      server.called.clear();
      await runSample(source, server.url).catch((error: unknown) => wrong.push(`${name}: ${String(error)}`));
      const called = [...server.called].map(baseOperation);
      const wanted = baseOperation(id);
      // By an external id the SDK asks for the session once, and goes on by its id.
      const isThere = called.includes(wanted) || called.includes(wanted.replace(/ByExternalId$/, ""));
      if (!isThere) wrong.push(`${name} calls ${called.join(", ")} and not ${wanted}`);
    }
    assert.deepEqual(wrong, []);
  });
});
