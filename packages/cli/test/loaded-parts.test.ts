// What programs load of Node at their start. Of some parts nothing in the code shows the price: an import of `node:http` has Node
// evaluate all its exports, and one is the client behind `fetch`, which takes longer than an empty program.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../server/test/support/database.ts";
import { describeProcess } from "../../server/test/crash/support/spawned-process.ts";
import { makeTestFolder, removeTestFolder } from "../../server/test/support/test-folder.ts";
import { spawnKeelson } from "./support.ts";

/** Has a program write what it has loaded of Node when it ends. */
const TELL = `
  process.on("exit", () => {
    const { writeFileSync } = process.getBuiltinModule("node:fs");
    writeFileSync(process.env.LOADED_PARTS, process.moduleLoadList.join("\\n"));
  });`;
const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(TELL)}`;

suite("parts of Node that a start loads", () => {
  let folder: string;
  let database: TestDatabase;
  before(async () => {
    folder = await makeTestFolder();
    database = await createTestDatabase();
  });
  after(async () => {
    await database?.drop();
    await removeTestFolder(folder);
  });

  const toldBy = (name: string) => ({ NODE_OPTIONS, LOADED_PARTS: join(folder, name) });
  const partsOf = async (name: string): Promise<string[]> =>
    (await readFile(join(folder, name), "utf8")).split("\n").map((part) => part.replace(/^\w+ /, ""));

  test("a command has neither HTTP nor TLS", async () => {
    assert.equal((await spawnKeelson(["task", "--help"], { env: toldBy("command") })).code, 0);
    const parts = await partsOf("command");
    assert.ok(parts.includes("path"));
    for (const part of ["http", "https", "tls", "internal/deps/undici/undici"])
      assert.ok(!parts.includes(part), part);
  });

  test("a server has no client behind fetch", async () => {
    const server = describeProcess({
      name: "the server",
      main: "server/src/main.ts",
      readyWhen: /listening on http:\S+\n/,
      env: {
        ...toldBy("server"),
        ...{ DATABASE_URL: database.url, KEELSON_DATA_DIR: join(folder, "data"), PORT: "0" },
      },
    });
    await server.start();
    server.signal("SIGTERM");
    await server.ended();
    const parts = await partsOf("server");
    assert.ok(parts.includes("http"));
    assert.ok(!parts.includes("internal/deps/undici/undici"));
  });
});
