import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { after, before, describe, test } from "node:test";
import { describeProcess } from "../crash/support/spawned-process.ts";
import { startApiServer, type ApiServer } from "../support/api-server.ts";
import { createBrowser } from "../support/browser.ts";
import { createTestDatabase } from "../support/database.ts";
import { sendLines } from "../support/raw-http.ts";
import { addUser } from "../support/tenancy.ts";
import { makeTestFolder } from "../support/test-folder.ts";

let server: ApiServer;
before(async () => {
  server = await startApiServer();
});
after(() => server.stop());

describe("without a PUBLIC_URL", () => {
  test("a cookie is taken from pages of loopback hosts alone", async () => {
    const browser = createBrowser(server);
    const token = await addUser(server, "developer");
    await browser.call("POST", "/api/auth/session", { headers: { authorization: `Bearer ${token}` } });
    const me = await browser.call("GET", "/api/me");
    const logOut = (host: string, origin: string | null) =>
      sendLines(server.url, [
        "POST /api/auth/logout HTTP/1.1",
        `Host: ${host}`,
        ...(origin === null ? ["Sec-Fetch-Site: same-origin"] : [`Origin: http://${origin}`]),
        `Cookie: keelson_session=${browser.cookies.get("keelson_session")}`,
        `X-CSRF-Token: ${me.body.csrf_token}-wrong`,
        "Content-Length: 0",
      ]);
    const { port } = new URL(server.url);
    for (const name of [
      "rebound.example",
      "192.168.1.5",
      "localhost.example",
      "127.0.0.1.example",
      "0.0.0.0",
    ])
      for (const origin of [`${name}:${port}`, null]) {
        const answer = await logOut(`${name}:${port}`, origin);
        assert.equal(answer.status, 403, `${name}: ${answer.text}`);
        const { error } = JSON.parse(answer.text);
        assert.equal(error.code, "csrf_rejected");
        assert.match(error.message, /PUBLIC_URL/, name);
      }
    for (const name of ["127.0.0.1", "127.9.8.7", "[::1]", "localhost", "keelson.localhost"]) {
      const answer = await logOut(`${name}:${port}`, `${name}:${port}`);
      // The origin is right: what is refused is the token.
      assert.match(JSON.parse(answer.text).error.message, /X-CSRF-Token/, `${name}: ${answer.text}`);
    }
  });
});

test("a server that listens on all addresses without a PUBLIC_URL says so, and where this machine reaches it", async () => {
  const database = await createTestDatabase();
  const folder = await makeTestFolder();
  const process = describeProcess({
    name: "the server",
    main: "server/src/main.ts",
    readyWhen: /listening on http:\S+\n/,
    env: { DATABASE_URL: database.url, KEELSON_DATA_DIR: folder, HOST: "0.0.0.0", PORT: "0" },
  });
  try {
    await process.start();
    assert.match(process.output(), /listening on http:\/\/127\.0\.0\.1:\d+\n/);
    assert.match(process.output(), /"level":40[^\n]*Set PUBLIC_URL to the address that people open/);
  } finally {
    await process.end();
    await database.drop();
    await rm(folder, { recursive: true, force: true });
  }
});
