import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { absentRunId, productionOf, startRunScene, type RunScene } from "../../support/run-scene.ts";

const MANIFEST = {
  tasks: [{ id: "plain" }, { id: "other" }, { id: "limited", queue: "narrow" }],
  queues: [{ name: "narrow", concurrency_limit: 1 }],
};

// What a route answered is looked into freely by a test.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

let scene: RunScene;
let production: RunScene;
before(async () => {
  scene = await startRunScene(MANIFEST);
  production = await productionOf(scene);
  await production.deploy(MANIFEST);
});
after(() => scene.stop());
afterEach(async () => {
  await scene.cancelAll();
  await production.cancelAll();
});

const refusal = async (path: string, method = "GET"): Promise<[number, string]> => {
  const { status, body } = await scene.call(method, path);
  return [status, body.error?.code];
};

describe("listing runs", () => {
  const list = async (query: string): Promise<Json> => {
    const answer = await scene.call("GET", `/v1/runs?${query}`);
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    return answer.body;
  };
  const ids = async (query: string): Promise<string[]> => (await list(query)).runs.map(({ id }: Json) => id);

  test("is newest first, and shows runs as their items do", async () => {
    const [a, b] = [
      await scene.start("plain", { payload: 1, tags: ["shown"] }),
      await scene.start("plain", { tags: ["shown"] }),
    ];
    const { runs, next_cursor } = await list("tag=shown");
    assert.equal(next_cursor, null);
    assert.deepEqual(
      runs.map(({ id }: Json) => id),
      [b.id, a.id],
    );
    assert.deepEqual(runs[1], { ...(await scene.get(a.id)), status_reason: null });
  });

  test("takes each filter, and all of them together", async () => {
    const early = await scene.start("plain", { tags: ["f", "x"] });
    scene.clock.advance(10_000);
    const middle = await scene.start("other", { tags: ["f", "y"] });
    scene.clock.advance(10_000);
    const late = await scene.start("plain", { tags: ["f", "x", "y"] });
    await scene.cancel(middle.id);
    assert.deepEqual(await ids("tag=f&tag=x"), [late.id, early.id]);
    assert.deepEqual(await ids("tag=f&tag=x&tag=y"), [late.id]);
    assert.deepEqual(await ids("tag=f&task=other"), [middle.id]);
    assert.deepEqual(await ids("actor=plain"), []);
    assert.deepEqual(await ids("tag=f&status=cancelled"), [middle.id]);
    assert.deepEqual(await ids("tag=f&status=queued"), [late.id, early.id]);
    assert.deepEqual(await ids("tag=f&status=queued&status=cancelled"), [late.id, middle.id, early.id]);
    assert.deepEqual(await ids("tag=f&status=succeeded&status=queued"), [late.id, early.id]);
    assert.deepEqual(await ids(`tag=f&created_after=${early.created_at}`), [late.id, middle.id]);
    assert.deepEqual(await ids(`tag=f&created_before=${late.created_at}`), [middle.id, early.id]);
    const between = `created_after=${early.created_at}&created_before=${late.created_at}`;
    assert.deepEqual(await ids(`tag=f&task=other&status=cancelled&${between}`), [middle.id]);
    assert.deepEqual(await ids(`tag=f&task=plain&${between}`), []);
    assert.deepEqual(await ids("session_id=sess_00000000000000000000000000"), []);
    assert.deepEqual(await ids("schedule_id=sched_00000000000000000000000000"), []);
    assert.deepEqual(await ids("deployment_id=dep_00000000000000000000000000"), []);
    const urgent = await scene.start("plain", { tags: ["f"], priority: 7 });
    assert.deepEqual(await ids("priority=7"), [urgent.id]);
    assert.deepEqual(await ids("tag=f&priority=0&status=queued"), [late.id, early.id]);
    assert.deepEqual(await ids("priority=-7"), []);
    const version = `deployment_id=${middle.deployment_id}`;
    assert.deepEqual(await ids(`tag=f&task=other&status=cancelled&${version}&${between}`), [middle.id]);
  });

  test("answers two filters as both say of each run, whichever of them is read by", async () => {
    const started: Json[] = [];
    for (const [task, options] of [
      ["plain", { tags: ["p"] }],
      ["other", { tags: ["p", "q"], priority: 3 }],
      ["plain", { tags: ["q"], priority: -3 }],
      ["other", {}],
      ["plain", { tags: ["p", "q"], priority: 3 }],
    ] as const) {
      started.push(await scene.start(task, options));
      scene.clock.advance(5_000);
    }
    await scene.cancel(started[1].id);
    const { runs: all } = await list("limit=200");
    const middle = started[2].created_at as string;
    const filters: [string, (run: Json) => boolean][] = [
      ["task=plain", (run) => run.task === "plain"],
      ["task=other", (run) => run.task === "other"],
      ["actor=plain", () => false],
      ["status=queued", (run) => run.status === "queued"],
      ["status=cancelled", (run) => run.status === "cancelled"],
      ["status=cancelled&status=queued", (run) => ["cancelled", "queued"].includes(run.status)],
      ["status=succeeded", (run) => run.status === "succeeded"],
      ["priority=3", (run) => run.priority === 3],
      ["priority=0", (run) => run.priority === 0],
      ["tag=p", (run) => run.tags.includes("p")],
      ["tag=q&tag=p", (run) => run.tags.includes("p") && run.tags.includes("q")],
      [`created_after=${middle}`, (run) => run.created_at > middle],
      [`created_before=${middle}`, (run) => run.created_at < middle],
      [`deployment_id=${started[0].deployment_id}`, (run) => run.deployment_id === started[0].deployment_id],
      [`parent_run_id=${started[0].id}`, () => false],
    ];
    const names = (query: string): string[] => [...new URLSearchParams(query).keys()];
    for (const [one, passesOne] of filters)
      for (const [other, passesOther] of filters) {
        if (names(one).some((name) => names(other).includes(name))) continue;
        const expected = all.filter((run: Json) => passesOne(run) && passesOther(run));
        assert.deepEqual(
          await ids(`${one}&${other}&limit=200`),
          expected.map(({ id }: Json) => id),
          `${one}&${other}`,
        );
      }
  });

  test("shows runs of each status where they are asked for", async () => {
    const tag = "ended";
    const end = async (outcome: string, extra: object = {}): Promise<void> =>
      scene.worker.finish(await scene.leased({ tags: [tag] }), outcome, extra);
    await end("succeeded");
    await end("failed", { failure: { kind: "application_error", message: "x", retryable: false } });
    await end("failed", { failure: { kind: "application_error", message: "x", retryable: true } });
    const running = await scene.leased({ tags: [tag] });
    for (const status of ["succeeded", "failed", "retry_delayed", "running"]) {
      const { runs } = await list(`tag=${tag}&status=${status}`);
      assert.deepEqual(
        runs.map((run: Json) => run.status),
        [status],
      );
    }
    assert.equal((await list(`tag=${tag}&status=succeeded&status=failed&status=running`)).runs.length, 3);
    await scene.worker.finish(running);
  });

  for (const filter of ["tag=paged-all", "tag=paged-live&status=queued", "tag=paged-task&task=plain"]) {
    const tags = [filter.slice("tag=".length).split("&")[0]];
    test(`pages without gap or repeat while runs are added, by ${filter}`, async () => {
      const starts = await Promise.all(Array.from({ length: 11 }, () => scene.start("plain", { tags })));
      const expected = starts.map(({ id }) => id as string).toSorted((a, b) => (a < b ? 1 : -1));
      const seen: string[] = [];
      let cursor: string | null = null;
      do {
        const page: Json = await list(`${filter}&limit=4${cursor === null ? "" : `&cursor=${cursor}`}`);
        seen.push(...page.runs.map(({ id }: Json) => id));
        cursor = page.next_cursor;
        await scene.start("plain", { tags });
      } while (cursor !== null);
      assert.deepEqual(seen, expected);
      await scene.cancelAll();
    });
  }

  const wrong: [string, string][] = [
    ["limit=0", "invalid_request"],
    ["limit=201", "invalid_request"],
    ["limit=1.5", "invalid_request"],
    ["limit=many", "invalid_request"],
    ["status=done", "invalid_request"],
    ["created_after=yesterday", "invalid_request"],
    ["created_before=2016-12-31T23:59:60Z", "invalid_request"],
    ["session_id=nonsense", "invalid_request"],
    ["schedule_id=sess_00000000000000000000000000", "invalid_request"],
    ["deployment_id=20261120.1", "invalid_request"],
    ["parent_run_id=nonsense", "invalid_request"],
    ["priority=101", "invalid_request"],
    ["priority=high", "invalid_request"],
    ["unknown=1", "invalid_request"],
    ["cursor=abc", "invalid_cursor"],
    ["cursor=", "invalid_cursor"],
    [`cursor=${"a".repeat(600)}`, "invalid_cursor"],
  ];
  for (const [query, code] of wrong) {
    test(`refuses ${query.slice(0, 40)} as ${code}`, async () => {
      assert.deepEqual(await refusal(`/v1/runs?${query}`), [400, code]);
    });
  }

  test("refuses a cursor of another list or environment, and one that names no run", async () => {
    await Promise.all([production.start("plain"), production.start("plain")]);
    const { body } = await production.call("GET", "/v1/runs?limit=1");
    assert.deepEqual(await refusal(`/v1/runs?cursor=${body.next_cursor}`), [400, "invalid_cursor"]);
    await Promise.all([scene.start("plain"), scene.start("plain")]);
    const own = (await list("limit=1")).next_cursor;
    assert.deepEqual(await refusal(`/v1/tasks?cursor=${own}`), [400, "invalid_cursor"]);
    const [name, environment] = JSON.parse(Buffer.from(own, "base64url").toString()) as string[];
    const forged = Buffer.from(JSON.stringify([name, environment, "no uuid"])).toString("base64url");
    assert.deepEqual(await refusal(`/v1/runs?cursor=${forged}`), [400, "invalid_cursor"]);
  });

  test("shows nothing of another environment, whose ids are not found", async () => {
    const foreign = await production.start("plain", { tags: ["foreign"] });
    assert.deepEqual(await ids("tag=foreign"), []);
    const absent = absentRunId(foreign.id);
    const answers = [];
    for (const id of [foreign.id, absent, "run_nonsense", "nonsense"]) {
      for (const path of ["", "/events", "/logs"]) {
        answers.push(
          await scene.call("GET", `/v1/runs/${id}${path}`, { headers: { "x-request-id": "same" } }),
        );
      }
      answers.push(
        await scene.call("POST", `/v1/runs/${id}/cancel`, { headers: { "x-request-id": "same" } }),
      );
    }
    assert.deepEqual(new Set(answers.map(({ status, body }) => `${status} ${JSON.stringify(body)}`)).size, 1);
    assert.equal(answers[0]?.status, 404);
    assert.equal((await production.get(foreign.id)).status, "queued");
  });
});
