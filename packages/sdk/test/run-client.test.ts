// Whose credential a client shows that is given none: always that of the run whose code sends the request.

import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import { AuthenticationError, Client, task, type RunContext } from "@keelson/sdk";
import { declare, outputOf } from "./support/declare.ts";
import type { ExecutionOptions } from "./support/execution.ts";

type Sent = { url: string; credential: string; body: string };
let sent: Sent[] = [];
const fetch: typeof globalThis.fetch = (input, init) => {
  const { headers, body } = init as { headers: Record<string, string>; body?: string };
  sent.push({ url: input as string, credential: headers["authorization"] ?? "", body: body ?? "" });
  const run = { id: "run_of_test", results: [{ run: { id: 1 } }, { run: { id: 2 } }] };
  return Promise.resolve(
    new Response(JSON.stringify(run), { headers: { "content-type": "application/json" } }),
  );
};

/** As a module of a bundle makes it. */
const ofModule = new Client({ fetch });
const ping = (client: Client): Promise<unknown> => client.request({ method: "GET", path: "/api/me" });

const accessOf = (name: string): Pick<ExecutionOptions, "access"> => ({
  access: { url: `http://${name}.example`, credential: `kl_run_${name}` },
});
const shown = (name: string): Sent => ({
  url: `http://${name}.example/api/me`,
  credential: `Bearer kl_run_${name}`,
  body: "",
});

const saved = { ...process.env };
beforeEach(() => {
  sent = [];
  process.env["KEELSON_URL"] = "http://ambient.example";
  process.env["KEELSON_API_KEY"] = "kl_key_ambient";
});
afterEach(() => {
  for (const name of ["KEELSON_URL", "KEELSON_API_KEY"]) {
    if (saved[name] === undefined) delete process.env[name];
    else process.env[name] = saved[name];
  }
});

describe("a client without options", () => {
  test("acts as the run whose code uses it, wherever it was made", async () => {
    let kept: Client | undefined;
    const code = async (): Promise<void> => {
      kept ??= new Client({ fetch });
      for (const client of [ofModule, kept, new Client({ fetch })]) await ping(client);
    };
    for (const name of ["a", "b"]) {
      sent = [];
      assert.equal(outputOf(await declare(code).ended(accessOf(name))), undefined);
      assert.deepEqual(sent, [shown(name), shown(name), shown(name)]);
    }
  });

  test("acts as each of the runs that share a process, at the same time", async () => {
    const runs = ["a", "b", "c"].map((name) => {
      const { start } = declare(async () => {
        for (let n = 0; n < 20; n += 1) await ping(ofModule);
        return name;
      });
      return start(accessOf(name)).ended;
    });
    await Promise.all(runs);
    for (const name of ["a", "b", "c"])
      assert.equal(
        sent.filter(({ url, credential }) => url === shown(name).url && credential === shown(name).credential)
          .length,
        20,
      );
    assert.equal(sent.length, 60);
  });

  test("never sends starts of two runs in one request", async () => {
    const runs = ["a", "b"].map((name) =>
      declare(async () => {
        const starts = [1, 2].map((n) => ofModule.tasks.start("leaf", `${name}${n}`));
        await Promise.all(starts);
      }).start(accessOf(name)),
    );
    for (const { ended } of runs) assert.equal(outputOf(await ended), undefined);
    assert.deepEqual(
      sent
        .map(({ credential, body }) => [
          credential,
          (JSON.parse(body) as { starts: { payload: string }[] }).starts.map(({ payload }) => payload),
        ])
        .toSorted(([a], [b]) => String(a).localeCompare(String(b))),
      [
        ["Bearer kl_run_a", ["a1", "a2"]],
        ["Bearer kl_run_b", ["b1", "b2"]],
      ],
    );
  });

  test("shows what the environment names outside of runs", async () => {
    await ping(ofModule);
    assert.deepEqual(sent, [
      { url: "http://ambient.example/api/me", credential: "Bearer kl_key_ambient", body: "" },
    ]);
    delete process.env["KEELSON_API_KEY"];
    await assert.rejects(ping(ofModule), /No API key/);
  });

  test("is refused with a reason once the run has ended", async () => {
    const late = Promise.withResolvers<unknown>();
    const { run, start } = declare((ctx: RunContext) => {
      setTimeout(() => late.resolve(Promise.allSettled([ping(ofModule), ping(ctx.client)])), 20);
      return Promise.resolve();
    });
    await start(accessOf("a")).ended;
    for (const outcome of (await late.promise) as PromiseSettledResult<unknown>[]) {
      assert.equal(outcome.status, "rejected");
      assert.ok(outcome.reason instanceof AuthenticationError, String(outcome.reason));
      assert.equal(outcome.reason.code, "unauthenticated");
      assert.ok(outcome.reason.message.includes(`${(await run.started()).id} no longer runs here`));
    }
    assert.deepEqual(sent, []);
  });

  test("says what is missing when the worker gives no credential", async () => {
    const { ended } = declare(() => ping(ofModule));
    assert.match(JSON.stringify(await ended({ access: null })), /This worker gives its runs no credential/);
  });
});

describe("a client with options of its own", () => {
  test("keeps them inside of a run", async () => {
    const { start } = declare(async () => {
      await ping(new Client({ fetch, apiKey: "kl_key_own" }));
      await ping(new Client({ fetch, url: "http://own.example", apiKey: "kl_key_own" }));
      // A run's credential is for the server that gave it.
      await ping(new Client({ fetch, url: "http://own.example" }));
    });
    await start(accessOf("a")).ended;
    assert.deepEqual(
      sent.map(({ url, credential }) => [url, credential]),
      [
        ["http://ambient.example/api/me", "Bearer kl_key_own"],
        ["http://own.example/api/me", "Bearer kl_key_own"],
        ["http://own.example/api/me", "Bearer kl_key_ambient"],
      ],
    );
    delete process.env["KEELSON_API_KEY"];
    const alone = declare(() => ping(new Client({ url: "http://own.example" })));
    assert.match(JSON.stringify(await alone.start(accessOf("a")).ended), /No API key/);
  });
});

describe("ctx.client", () => {
  test("is one client, which acts as its run", async () => {
    const { start } = declare(async (ctx: RunContext) => {
      assert.equal(ctx.client, ctx.client);
      assert.ok(ctx.client instanceof Client);
      // It has no fetch of the test's: nobody is at its address.
      await assert.rejects(ctx.client.request({ method: "GET", path: "/", requestTimeout: "1ms" }));
    });
    assert.equal(outputOf(await start(accessOf("a")).ended), undefined);
  });

  test("is of no use to another run", async () => {
    const kept = Promise.withResolvers<Client>();
    const done = Promise.withResolvers<void>();
    const first = declare(async (ctx: RunContext) => {
      kept.resolve(ctx.client);
      await done.promise;
    });
    const ended = first.ended(accessOf("a"));
    const client = await kept.promise;
    const second = declare(() => ping(client));
    const failed = JSON.stringify(await second.ended(accessOf("b")));
    const [a, b] = await Promise.all([first.run.started(), second.run.started()]);
    assert.ok(failed.includes(`that of ${a.id}, and the code of ${b.id} used it`), failed);
    done.resolve();
    await ended;
  });
});

test("a permission that no run can have is refused where it is declared", () => {
  const run = (): void => undefined;
  for (const permission of ["secrets.read", "deployments.create", "members.read", "all"])
    assert.throws(
      () => task({ id: `greedy ${permission}`.replace(" ", "-"), permissions: [permission as never], run }),
      /which no run can have/,
    );
});
