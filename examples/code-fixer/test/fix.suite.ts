import assert from "node:assert/strict";
import { before, suite, test } from "node:test";
import type { Client } from "@keelson/sdk";
import { shareExamples } from "../../repository-report/test/support/shared-examples.ts";
import { BROKEN_PROJECT } from "../src/broken-project.ts";
import type { FixOutput } from "../src/tasks/fix-code.ts";

suite("fix-code", () => {
  let client: Client;
  before(async () => {
    ({ client } = await shareExamples());
  });

  test("runs the tests in a workspace, edits until they pass, and leaves the fix as versions", async () => {
    const started = await client.tasks.start("fix-code");
    const run = await client.runs.wait(started.id, { timeout: "2m" });
    assert.equal(run.status, "succeeded", JSON.stringify(run.failure));
    const output = run.output as FixOutput;
    assert.deepEqual(
      output.rounds.map(({ exit_code, failures, edits }) => [exit_code, failures.length, edits.length]),
      [
        [2, 2, 1],
        [1, 1, 1],
        [0, 0, 0],
      ],
    );
    assert.deepEqual(output.changes, ["M slug.sh"]);
    const { files, versions, get } = client.workspaces.open(output.workspace_id);
    assert.equal((await get()).currentVersionId, output.version_id);
    assert.match(await files.readText("slug.sh"), /tr '\[:upper:\]' '\[:lower:\]' \| tr -cs 'a-z0-9' '-'/);
    assert.equal(
      await files.readText("slug.sh", { versionId: output.base_version_id }),
      BROKEN_PROJECT.files["slug.sh"],
    );
    const causes: string[] = [];
    for await (const { cause } of versions.list()) causes.push(cause.kind);
    // Each write is a version of its command; the tests change nothing.
    assert.deepEqual(causes, ["exec", "exec", "exec", "exec", "exec", "create"]);
  });

  test("gives up after as many rounds as it may, and says where it stood", async () => {
    const started = await client.tasks.start("fix-code", { max_rounds: 1 });
    const run = await client.runs.wait(started.id, { timeout: "2m" });
    assert.equal(run.status, "failed");
    assert.match(run.failure?.message ?? "", /still fail after 1 rounds; see workspace ws_/);
  });
});
