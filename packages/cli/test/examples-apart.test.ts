// The examples at a worker of its own, which is given no key: `keelson agent` beside a server.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod } from "node:fs/promises";
import { resolve } from "node:path";
import { after, before, describe, test } from "node:test";
import { Client } from "@keelson/sdk";
import {
  createFixtureRepository,
  WITHOUT_GIT,
  type FixtureRepository,
} from "../../../examples/repository-report/test/support/fixture-repository.ts";
import { openConversation } from "../../../examples/approval-chat/test/support/conversation.ts";
import { startApiServer, type ApiServer } from "../../server/test/support/api-server.ts";
import { makeTestFolder, removeTestFolder } from "../../server/test/support/test-folder.ts";
import { bundleCode } from "../src/bundle/build-bundle.ts";
import { deployExamples } from "../src/up/deploy-examples.ts";
import { findExampleFiles } from "../src/up/find-examples.ts";
import { bareEnvironment } from "../../server/test/support/bare-environment.ts";
import { programArguments } from "../../server/test/support/programs.ts";

const ROOT = resolve(import.meta.dirname, "../../..");

describe("the examples at a worker that is given no key", { timeout: 180_000 }, () => {
  let server: ApiServer;
  let client: Client;
  let stopAgent: () => Promise<void>;
  let repository: FixtureRepository | undefined;
  before(async () => {
    server = await startApiServer();
    client = new Client({ url: server.url, apiKey: server.credentials.api_key });
    const dataDir = await makeTestFolder();
    if (WITHOUT_GIT === false) {
      repository = await createFixtureRepository();
      // The report is written there, by a user of the environment's when the worker is root.
      await chmod(repository.root, 0o777);
    }
    const agent = spawn(process.execPath, [...programArguments("cli/src/main.ts"), "agent"], {
      env: {
        ...{ ...bareEnvironment(), KEELSON_DATA_DIR: dataDir },
        ...{ KEELSON_URL: server.url, KEELSON_ENROLLMENT_TOKEN: server.credentials.enrollment_token },
        ...{ KEELSON_TASK_ENV: "APPROVAL_CHAT_IDLE_SECONDS", APPROVAL_CHAT_IDLE_SECONDS: "1" },
      },
      // Git trusts the worker's own folder alone when it is somebody else's than the task's.
      ...(repository !== undefined && { cwd: repository.root }),
      stdio: "ignore",
    });
    const ended = once(agent, "close");
    stopAgent = async () => {
      agent.kill("SIGTERM");
      await ended;
      await removeTestFolder(dataDir);
    };
    const bundled = await bundleCode({ directory: ROOT, files: await findExampleFiles(ROOT) });
    await deployExamples(client, bundled, ROOT, new AbortController().signal, () => undefined);
  });
  after(async () => {
    await stopAgent?.();
    await server?.stop();
    await repository?.[Symbol.asyncDispose]();
  });

  test("repository-report starts its parts and reads them", { skip: WITHOUT_GIT }, async () => {
    assert.ok(repository);
    await repository.write({ "README.md": "# Fixture\n", "src/a.ts": "1\n2\n3\n" });
    await repository.commit("2026-11-02T10:00:00Z", "Bob");
    const started = await client.tasks.start("repository-report", { path: repository.root });
    const run = await client.runs.wait(started, { timeout: "1m" });
    assert.equal(run.status, "succeeded", JSON.stringify(run.failure));
    assert.equal((run.output as { complete: boolean }).complete, true);
  });

  test("code-fixer asks for the changes that it made", async () => {
    const run = await client.runs.wait(await client.tasks.start("fix-code"), { timeout: "2m" });
    assert.equal(run.status, "succeeded", JSON.stringify(run.failure));
    assert.deepEqual((run.output as { changes: string[] }).changes, ["M slug.sh"]);
  });

  test("approval-chat has the earlier turns in its next one", async () => {
    const chat = await openConversation(client, server.url);
    await chat.send("Hello");
    await chat.until("answered");
    for await (const { id } of client.sessions.runs(chat.id))
      assert.equal((await client.runs.wait(id, { timeout: "1m" })).status, "succeeded");
    const second = await chat.send("Are you there?");
    await chat.until("answered");
    assert.equal(chat.answersTo(second).length, 1);
    const turns = [];
    for await (const { turn, status } of client.sessions.runs(chat.id))
      turns.push([turn, status === "failed"]);
    assert.deepEqual(turns, [
      [2, false],
      [1, false],
    ]);
    await chat.end();
  });
});
