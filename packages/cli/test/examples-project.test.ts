// The examples have a project of their own: nobody's own deploy removes them, and they remove nobody's.

import assert from "node:assert/strict";
import { mkdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { Client, NotFoundError } from "@keelson/sdk";
import { readConfig } from "../../../examples/approval-chat/src/web/config.ts";
import { startApiServer, type ApiServer } from "../../server/test/support/api-server.ts";
import { examplesFile, openExamplesProject } from "../src/up/examples-project.ts";
import { createFolder } from "./support.ts";

suite("the project of the examples", () => {
  let server: ApiServer;
  let folder: Awaited<ReturnType<typeof createFolder>>;
  const open = () => openExamplesProject(server, folder.path, AbortSignal.timeout(60_000));
  const projects = async (): Promise<string[]> => {
    const as = server.credentials.user_token;
    const { body } = await server.call("GET", "/api/projects", { as });
    return body.projects.map(({ slug }: { slug: string }) => slug).toSorted();
  };
  before(async () => {
    server = await startApiServer();
    folder = await createFolder();
  });
  after(async () => {
    await server.stop();
    await folder[Symbol.asyncDispose]();
  });

  test("is made once, with a key that the next start finds again", async () => {
    const made = await open();
    assert.deepEqual(await projects(), ["default", "examples"]);
    assert.notEqual(made.environment_id, server.credentials.environment_id);
    assert.equal((await stat(examplesFile(folder.path))).mode & 0o777, 0o600);
    assert.deepEqual(await open(), made);
    const client = new Client({ url: made.url, apiKey: made.api_key });
    await assert.rejects(client.deployments.current(), NotFoundError);
  });

  test("gets another key when its own is lost or revoked, and stays the same project", async () => {
    const first = await open();
    await rm(examplesFile(folder.path));
    const second = await open();
    assert.equal(second.project_id, first.project_id);
    assert.notEqual(second.api_key, first.api_key);
    const place = `/api/projects/${second.project_id}/environments/${second.environment_id}/api-keys`;
    const as = server.credentials.user_token;
    const { body } = await server.call("GET", place, { as });
    for (const { id } of body.api_keys) await server.call("DELETE", `${place}/${id}`, { as });
    const third = await open();
    assert.notEqual(third.api_key, second.api_key);
    assert.equal(third.environment_id, first.environment_id);
    assert.deepEqual(await projects(), ["default", "examples"]);
  });

  test("is where `npm run chat` talks", async () => {
    await using checkout = await createFolder();
    const data = join(checkout.path, ".keelson");
    await mkdir(data);
    const { api_key: apiKey } = await openExamplesProject(server, data, AbortSignal.timeout(60_000));
    assert.partialDeepStrictEqual(readConfig({}, checkout.path), { url: server.url, apiKey });
    assert.ok((await readFile(examplesFile(data), "utf8")).includes(apiKey));
  });
});
