import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { startEmbeddedServer } from "../../src/embedded-postgres/embedded-server.ts";
import { migrate } from "../../src/db/migrate.ts";
import { makeTestFolder } from "../support/test-folder.ts";

describe("a PostgreSQL that could lose what was acknowledged", () => {
  let dir: string;
  before(async () => {
    dir = await makeTestFolder();
  });
  after(async () => rm(dir, { recursive: true }));

  for (const name of ["fsync", "full_page_writes"]) {
    test(`is refused with ${name}=off, and told how to turn it on`, async () => {
      const server = await startEmbeddedServer({
        dataDir: path.join(dir, "postgres"),
        settings: { [name]: "off" },
      });
      try {
        await assert.rejects(migrate(server.url), {
          message: new RegExp(
            `^PostgreSQL runs with ${name}=off[^\\n]+ALTER SYSTEM SET ${name} = on[^\\n]+$`,
          ),
        });
      } finally {
        await server.stop();
      }
    });
  }
});
