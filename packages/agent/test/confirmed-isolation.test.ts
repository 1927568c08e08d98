import assert from "node:assert/strict";
import { chmod, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test, type TestContext } from "node:test";
import { startAgent } from "../src/start-agent.ts";
import { describeIsolation } from "../src/sandboxes/probe-isolation.ts";
import { startApiServer, type ApiServer } from "../../server/test/support/api-server.ts";
import { probeHere } from "./support/start-test-supervisor.ts";
import { cleanUp } from "./support/clean-up.ts";
import { removeTestFolder } from "../../server/test/support/test-folder.ts";

const silent = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

describe("the isolation that an agent confirmed", () => {
  let server: ApiServer;
  before(async () => {
    server = await startApiServer();
  });
  after(() => server.stop());

  /** The worker of a new agent, as operators see it once the agent has started. */
  const workerOf = async (t: TestContext, workspaces: number) => {
    const dataDir = await mkdtemp(join(tmpdir(), "keelson-agent-"));
    // Open to pass through, as the folder is that the machine is probed in: a workspace's own uid must get to its files.
    await chmod(dataDir, 0o711);
    const agent = await startAgent({
      ...{
        url: server.url,
        name: "confirmed",
        capacity: 1,
        workspaces,
        dataDir,
        version: "0",
        logger: silent,
      },
      enrollmentToken: server.credentials.enrollment_token,
    });
    cleanUp(t, async () => {
      await agent.stop();
      await removeTestFolder(dataDir);
    });
    const as = server.credentials.admin_key;
    return (await server.call("GET", `/admin/api/v1/workers/${agent.workerId}`, { as })).body;
  };

  test("is known when it has started", async (t) => {
    const { isolation, isolation_problem } = await workerOf(t, 1);
    const expected = { isolation_problem: null, ...describeIsolation(await probeHere()) };
    assert.deepEqual({ isolation_problem, isolation }, expected);
  });

  test("is nothing where it takes no workspaces", async (t) => {
    const { isolation, isolation_problem } = await workerOf(t, 0);
    assert.deepEqual([isolation, isolation_problem], [null, null]);
  });
});

test("what the server is told is text that it takes, however the machine's programs put it", async () => {
  const { means } = await probeHere();
  const problems = ["bwrap: \u0000\u001b[31mno\nroom", "\u{1f600}".repeat(2_000)];
  const { isolation, isolation_problem: problem = "" } = describeIsolation({
    ...{ isolation: "process", means, problems },
  });
  assert.equal(isolation, "process");
  assert.ok(problem.startsWith("bwrap:  [31mno room \u{1f600}"), problem.slice(0, 50));
  assert.equal(problem.length, 2_000);
  assert.ok(problem.isWellFormed());
  assert.doesNotMatch(problem, /\p{Cc}/u);
  assert.deepEqual(describeIsolation({ isolation: "namespace", means, problems }), {
    isolation: "namespace",
  });
});
