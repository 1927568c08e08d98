import assert from "node:assert/strict";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { startAgent, type RunningAgent } from "@keelson/agent";
import { Client } from "@keelson/sdk";
import { startApiServer } from "../../server/test/support/api-server.ts";
import { removeTestFolder } from "../../server/test/support/test-folder.ts";

test("commands run where nobody but the agent's user may enter the data folder", async (t) => {
  const server = await startApiServer();
  // mkdtemp closes it to all others.
  const dataDir = await mkdtemp(join(tmpdir(), "keelson-agent-"));
  const agents: RunningAgent[] = [];
  t.after(async () => {
    await Promise.all(agents.map((agent) => agent.stop()));
    await server.stop();
    await removeTestFolder(dataDir);
  });
  const quiet = (): void => undefined;
  const agent = await startAgent({
    url: server.url,
    enrollmentToken: server.credentials.enrollment_token,
    name: "agent",
    capacity: 1,
    workspaces: 1,
    dataDir,
    version: "0.1.0-test",
    logger: { debug: quiet, info: quiet, warn: quiet, error: quiet },
  });
  agents.push(agent);
  const { workspaces } = new Client({ url: server.url, apiKey: server.credentials.api_key });
  const workspace = workspaces.open(await workspaces.create());
  const run = async (script: string, cwd = ""): Promise<string> => {
    const exec = await workspace.exec(["sh", "-c", script], { stdin: "", cwd });
    const { status, exitCode, stdout, stderr, error } = await exec.result({ timeout: "1m" });
    assert.deepEqual([status, exitCode, stderr], ["exited", 0, ""], error?.message);
    return stdout;
  };
  // Also a folder of the workspace's own that is closed to all others, and the system's names.
  await run("mkdir -m 700 deep; echo inside > deep/file; test -r /etc/passwd; test -x /etc");
  assert.equal(await run("cat file", "deep"), "inside\n");
});
