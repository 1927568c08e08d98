import assert from "node:assert/strict";
import { test } from "node:test";
import { bundleOf } from "./support/bundles.ts";
import { sharedAgent } from "./support/start-test-agent.ts";

const KEY = ["API_KEY", "swordfish-1234"] as const;
const secrets = [KEY[0]];

for (const execution of ["exclusive", "shared"] as const) {
  test(`a run in a process of its own kind (${execution}) is given its secrets, and none is in what is reported of it`, async () => {
    const { server } = await sharedAgent();
    await server.putSecret(...KEY);
    const digest = server.putBundle(
      bundleOf({
        main: `
          const key = ctx.secrets.API_KEY;
          process.stdout.write("key " + key.slice(0, 5));
          await new Promise((resolve) => setTimeout(resolve, 30));
          process.stdout.write(key.slice(5) + " and " + key + "\\n");
          console.error(JSON.stringify({ key }));
          ctx.host.event({ kind: "step.completed", message: "used " + key, attributes: { key } });
          if (Object.keys(process.env).some((name) => process.env[name].includes(key))) throw new Error("environment");
          throw new Error(key.length + ": refused key " + key);`,
      }),
    );
    const run = server.enqueue({ digest, execution, secrets });
    const release = await run.released;
    assert.equal(release.failure?.message, "14: refused key [redacted]");
    assert.equal(run.output("stdout").toString(), "key [redacted] and [redacted]\n");
    assert.equal(run.output("stderr").toString(), `{"key":"[redacted]"}\n`);
    const reported = JSON.stringify(run.operations);
    assert.ok(reported.includes("used [redacted]") && !reported.includes("swordfish"), reported);
  });
}

test("a run that declares no secrets is in no process that was given some", async () => {
  const { server } = await sharedAgent();
  await server.putSecret(...KEY);
  const digest = server.putBundle(bundleOf({ main: `return [process.pid, Object.keys(ctx.secrets)];` }));
  const [first] = (await server.enqueue({ digest, secrets }).released).output as [number, string[]];
  const [second, names] = (await server.enqueue({ digest }).released).output as [number, string[]];
  assert.notEqual(second, first);
  assert.deepEqual(names, []);
});

test("a step's error has no secret in the journal", async () => {
  const { server } = await sharedAgent();
  await server.putSecret(...KEY);
  const digest = server.putBundle(
    bundleOf({
      main: `
        const key = ctx.secrets.API_KEY;
        const error = { name: "Error", message: "refused " + key, stack: "Error: refused " + key, code: null };
        const entries = [
          { position: 1, kind: "step", name: "login", error },
          { position: 2, kind: "step", name: "count", value: 1 },
        ];
        await ctx.host.call({ kind: "steps", entries });`,
    }),
  );
  const run = server.enqueue({ digest, secrets });
  assert.equal((await run.released).outcome, "succeeded");
  assert.deepEqual(
    (await server.journalOf(run)).map(({ value, error }) => [value, error?.message, error?.stack]),
    [
      [null, "refused [redacted]", "Error: refused [redacted]"],
      [1, undefined, undefined],
    ],
  );
});
