// Two servers are told opposite things at the same moment. One of them is first, both say so, and nothing is lost.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Answer } from "./support/caller.ts";
import { openStage, type Held, type Json, type Stage } from "./support/crash-stage.ts";
import {
  beginRun,
  beginSession,
  dataOf,
  done,
  goesOn,
  idleSession,
  openSession,
  park,
  resumesWith,
  sessionRow,
  waitStatus,
} from "./support/crash-write.ts";
import { checkInvariants } from "./support/invariants.ts";
import { crashSeconds, newSeed, seededRandom } from "../support/seeded-random.ts";
import type { ServerProcess } from "./support/site.ts";
import { letPass } from "../support/until.ts";

/** Of each race. */
const ROUNDS = Math.ceil(crashSeconds(2) * 5);
const AT_ONCE = 8;
/** Two that begin within this time meet in the database. */
const SPREAD_MS = 6;
const INPUT_WAIT = { kind: "input", stream: "input" };

const seed = newSeed();
const random = seededRandom(seed);
let stage: Stage;
before(async () => {
  stage = await openStage({ poolSize: 8, proxied: false });
});
after(() => stage?.stop());

/** Runs the rounds, several at a time. @returns how often each outcome came. */
async function repeat(name: string, round: () => Promise<string>): Promise<void> {
  const outcomes = new Map<string, number>();
  let left = ROUNDS;
  const lane = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const outcome = await round();
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  await checkInvariants(stage.site.db, name);
  const shown = [...outcomes].map(([outcome, count]) => `${outcome} ×${count}`).join(", ");
  console.log(`seed ${seed} · ${name}: ${shown}`);
}

/** Begins all of them within a few milliseconds. */
const race = <T>(...racers: (() => Promise<T>)[]): Promise<T[]> =>
  Promise.all(
    racers.map(async (racer) => {
      await letPass(random() * SPREAD_MS, "the racers begin at random moments, close to each other");
      return racer();
    }),
  );

const at = (server: 0 | 1, path: string, body: object = {}): Promise<Answer> =>
  stage.site.call((stage.site.servers[server] as ServerProcess).url, "POST", path, {
    body,
    timeoutMs: 30_000,
  });

const input = (server: 0 | 1, sessionId: string, data: unknown): Promise<Answer> =>
  at(server, `/api/sessions/${sessionId}/inputs/input`, { data });

async function tell(server: 0 | 1, ...operations: Json[]): Promise<Json[]> {
  const answer = await stage.worker.post(
    "executions/report",
    { operations },
    { server: stage.site.servers[server] as ServerProcess, timeoutMs: 30_000 },
  );
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  for (const result of answer.body.results) assert.equal(result.status, 200, JSON.stringify(result));
  return answer.body.results;
}

const codeOf = ({ status, body }: Answer): string => (status < 400 ? String(status) : body.error.code);

const currentRun = async ({ id }: Json): Promise<string> =>
  (await stage.get(`/api/sessions/${id}`)).current_run_id as string;

/** What a run can wait for, and how that comes. */
const SOURCES: Record<string, () => Promise<{ held: Held; wait: object; come: () => Promise<unknown> }>> = {
  token: async () => {
    const { id } = await stage.make("/v1/tokens");
    return {
      held: await beginRun(stage),
      wait: { kind: "token", token_id: id },
      come: () => at(1, `/v1/tokens/${id}/complete`),
    };
  },
  input: async () => {
    const { session, held } = await beginSession(stage);
    return { held, wait: INPUT_WAIT, come: () => input(1, session.id, "news") };
  },
  "closed session": async () => {
    const { session, held } = await beginSession(stage);
    return { held, wait: INPUT_WAIT, come: () => at(1, `/api/sessions/${session.id}/close`) };
  },
  run: async () => {
    const [held, child] = [await beginRun(stage), await beginRun(stage)];
    const release = child.operation("release", { outcome: "succeeded" });
    return { held, wait: { kind: "run", run_id: child.runId }, come: () => tell(1, release) };
  },
  timer: async () => ({
    held: await beginRun(stage),
    wait: { kind: "timer", timeout: "4ms" },
    come: () => Promise.resolve(null),
  }),
};

for (const [source, make] of Object.entries(SOURCES)) {
  test(`what a run waits for comes while it begins to wait: ${source}`, () =>
    repeat(`wait | ${source}`, async () => {
      const { held, wait, come } = await make();
      const operation = held.operation("waits", {
        waits: [{ position: 1, name: "wait", ...wait }],
        parked: true,
      });
      const [answered] = (await race<Json>(() => tell(0, operation), come)) as [Json[], unknown];
      const wasParked = answered[0].result.parked as boolean;
      await goesOn("the wait settles", async () => (await waitStatus(stage, held.runId)) === "resolved");
      await done(
        stage,
        held.operation("steps", { entries: [{ position: 1, kind: "wait", name: "wait" }] }),
        held.operation("release", { outcome: "succeeded" }),
      );
      return wasParked ? "waited" : "came first";
    }));

  if (source !== "timer")
    test(`what a run waits for comes while it is being suspended: ${source}`, () =>
      repeat(`suspend | ${source}`, async () => {
        const { held, wait, come } = await make();
        await park(stage, held, wait, "parked");
        await race<unknown>(() => tell(0, held.operation("release", { outcome: "suspended" })), come);
        await resumesWith(stage, held.runId, "resolved");
        const kinds = (await stage.get(`/v1/runs/${held.runId}/events?limit=200`)).events.map(
          ({ kind }: Json) => kind as string,
        );
        assert.equal(kinds.filter((kind: string) => kind === "run.leased").length, 2, kinds.join(" "));
        return kinds.indexOf("run.suspended") < kinds.indexOf("wait.resolved")
          ? "suspended first"
          : "came first";
      }));
}

test("a wait is either resolved or timed out", () =>
  repeat("complete | time", async () => {
    const { id } = await stage.make("/v1/tokens");
    const held = await beginRun(stage);
    await park(stage, held, { kind: "token", token_id: id, timeout: "30ms" });
    await letPass(25 + random() * 10, "the completion comes at about the time at which the wait ends");
    assert.equal((await at(1, `/v1/tokens/${id}/complete`)).status, 200);
    const status = (await waitStatus(stage, held.runId)) as string;
    await resumesWith(stage, held.runId, status);
    return status;
  }));

test("a token is either cancelled or completed", () =>
  repeat("cancel | complete", async () => {
    const { id } = await stage.make("/v1/tokens");
    const held = await beginRun(stage);
    await park(stage, held, { kind: "token", token_id: id });
    const answers = await race(
      () => at(0, `/v1/tokens/${id}/cancel`),
      () => at(1, `/v1/tokens/${id}/complete`, { data: "yes" }),
    );
    const { status, data } = await stage.get(`/v1/tokens/${id}`);
    const isCancelled = status === "cancelled";
    assert.deepEqual(
      answers.map(codeOf),
      isCancelled ? ["200", "token_cancelled"] : ["invalid_state", "200"],
    );
    assert.equal(data, isCancelled ? null : "yes");
    await resumesWith(stage, held.runId, "resolved");
    return status as string;
  }));

test("a session that is closed has all records that were acknowledged, and none after", () =>
  repeat("close | append", async () => {
    const session = await openSession(stage, { input: 0 });
    const acknowledged: number[] = [];
    let next = 1;
    const appender = async (): Promise<string> => {
      for (;;) {
        const data = (next += 1);
        const code = codeOf(await input((data % 2) as 0 | 1, session.id, data));
        if (code === "session_closed") return code;
        assert.equal(code, "201");
        acknowledged.push(data);
      }
    };
    const close = async (): Promise<string> => {
      await letPass(random() * 20, "the session is closed somewhere among the appends");
      return codeOf(await at(0, `/api/sessions/${session.id}/close`));
    };
    await race(appender, appender, appender, close);
    const kept = await dataOf(stage, session.id, "input");
    assert.deepEqual(new Set(kept), new Set([0, ...acknowledged]));
    assert.equal(kept.length, acknowledged.length + 1);
    assert.equal(codeOf(await input(1, session.id, "late")), "session_closed");
    assert.equal(
      codeOf(await at(1, `/api/sessions/${session.id}/outputs/output`, { data: 1 })),
      "session_closed",
    );
    return acknowledged.length > 0 ? "some came in time" : "none came in time";
  }));

test("input that comes as a turn ends starts exactly one more turn", () =>
  repeat("turn's end | input", async () => {
    const { session, held } = await beginSession(stage);
    const release = held.operation("release", { outcome: "succeeded" });
    const send = (n: number) => async (): Promise<unknown> => {
      const answer = await input((n % 2) as 0 | 1, session.id, n);
      assert.equal(answer.status, 201, JSON.stringify(answer.body));
      return answer;
    };
    await race<unknown>(() => tell(0, release), send(1), send(2), send(3));
    await goesOn("the next turn begins", async () => (await sessionRow(stage, session.id)).turn > 1);
    const second = await stage.begin(await currentRun(session));
    assert.equal((await sessionRow(stage, session.id)).turn, 2);
    assert.deepEqual(new Set(await dataOf(stage, session.id, "input")), new Set([1, 2, 3]));
    await done(stage, second.operation("release", { outcome: "succeeded" }));
    await goesOn("it knows of the end", async () => {
      const { idle, turn } = await sessionRow(stage, session.id);
      return idle || turn > 2;
    });
    const { turn } = await sessionRow(stage, session.id);
    // What came after the second turn had begun, and was not received in it, is a third one's.
    return `${turn} turns`;
  }));

const withdraw = (server: 0 | 1, sessionId: string, sequence: number): Promise<Answer> =>
  stage.site.call(
    (stage.site.servers[server] as ServerProcess).url,
    "DELETE",
    `/api/sessions/${sessionId}/inputs/input/${sequence}`,
    { timeoutMs: 30_000 },
  );

test("an input is either withdrawn or received", () =>
  repeat("withdraw | receive", async () => {
    const { session, held } = await beginSession(stage);
    assert.equal((await input(0, session.id, "first")).status, 201);
    const wait = held.operation("waits", {
      waits: [{ position: 1, name: "wait", ...INPUT_WAIT }],
      parked: true,
    });
    const [told, answer] = (await race<unknown>(
      () => tell(0, wait),
      () => withdraw(1, session.id, 1),
    )) as [Json[], Answer];
    const given = told[0].result.waits as Json[];
    const isWithdrawn = answer.status === 200;
    if (isWithdrawn) {
      assert.deepEqual(given, []);
      assert.equal((await input(1, session.id, "second")).body.disposition, "delivered");
      await goesOn("the wait settles", async () => (await waitStatus(stage, held.runId)) === "resolved");
      assert.deepEqual(await dataOf(stage, session.id, "input"), [null, "second"]);
    } else {
      assert.equal(codeOf(answer), "already_received");
      assert.deepEqual(
        given.map(({ value }) => value.data),
        ["first"],
      );
    }
    await done(
      stage,
      held.operation("steps", { entries: [{ position: 1, kind: "wait", name: "wait" }] }),
      held.operation("release", { outcome: "succeeded" }),
    );
    return isWithdrawn ? "withdrawn" : "received";
  }));

test("input that is withdrawn as a turn ends starts one turn or none", () =>
  repeat("turn's end | withdraw", async () => {
    const { session, held } = await beginSession(stage);
    assert.equal((await input(0, session.id, "during")).status, 201);
    const release = held.operation("release", { outcome: "succeeded" });
    const looks = Math.floor(random() * 6);
    const [, answer] = (await race<unknown>(
      () => tell(0, release),
      async () => {
        // Later or sooner, so that the next turn has begun in some rounds.
        for (let look = 0; look < looks; look += 1) await stage.get(`/api/sessions/${session.id}`);
        return withdraw(1, session.id, 1);
      },
    )) as [unknown, Answer];
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    await goesOn("it knows of the end", async () => {
      const { idle, turn } = await sessionRow(stage, session.id);
      return idle || turn > 1;
    });
    if ((await sessionRow(stage, session.id)).idle) return "no turn";
    const second = await stage.begin(await currentRun(session));
    await done(stage, second.operation("release", { outcome: "succeeded" }));
    await goesOn("it rests", async () => (await sessionRow(stage, session.id)).idle);
    assert.equal((await sessionRow(stage, session.id)).turn, 2);
    return "one turn";
  }));

test("fifty inputs at once start one turn of an idle session", async () => {
  for (let round = 0; round < Math.ceil(ROUNDS / 8); round += 1) {
    const session = await idleSession(stage);
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) => input((n % 2) as 0 | 1, session.id, n)),
    );
    for (const answer of answers) assert.equal(answer.status, 201, JSON.stringify(answer.body));
    assert.equal((await sessionRow(stage, session.id)).turn, 2);
    assert.equal(new Set(await dataOf(stage, session.id, "input")).size, 50);
    await stage.begin(await currentRun(session));
  }
  await checkInvariants(stage.site.db, "fifty inputs");
});
