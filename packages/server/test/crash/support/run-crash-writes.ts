import assert from "node:assert/strict";
import { sql } from "../../../src/db/sql.ts";
import { KEPT_OPEN, type Held, type Json, type Stage } from "./crash-stage.ts";
import {
  beginRun,
  beginSession,
  countTagged,
  dataOf,
  done,
  goesOn,
  idleSession,
  newKey,
  park,
  resumesWith,
  sameAnywhere,
  sessionRow,
  uuidOf,
  waitStatus,
  type Act,
  type Write,
} from "./crash-write.ts";

/** One report, repeated with the same sequences. What it answers is compared unless others may change that meanwhile. */
export const reports = (stage: Stage, operations: Json[], verify: () => Promise<void>): Act => ({
  send: async () => (await done(stage, ...operations)).map(({ result }) => result),
  verify,
});

export async function journalOf(stage: Stage, { runId }: Held): Promise<string[]> {
  const rows = await stage.site.db.query<{ kind: string }>(
    sql`SELECT kind FROM run_journal WHERE run_id = ${uuidOf("run", runId)} ORDER BY sequence`,
  );
  return rows.map(({ kind }) => kind);
}

const waitsFor = (held: Held, wait: object): Json =>
  held.operation("waits", { waits: [{ position: 1, name: "wait", ...wait }], parked: true });

/** Suspends the run, has what it waits for come, and lets it go on. */
export async function suspendAndResolve(
  stage: Stage,
  held: Held,
  resolve: () => Promise<unknown>,
): Promise<void> {
  assert.equal(await waitStatus(stage, held.runId), "pending");
  await done(stage, held.operation("release", { outcome: "suspended" }));
  await resolve();
  await resumesWith(stage, held.runId, "resolved");
}

export const passTimeOf = async (stage: Stage, { runId }: Held): Promise<void> => {
  await stage.site.db.query(sql`
    UPDATE run_waits SET timeout_at = now() WHERE run_id = ${uuidOf("run", runId)} AND status = 'pending'`);
};

const settled = (stage: Stage, { runId }: Held, status: string): Promise<void> =>
  goesOn(`the wait is ${status}`, async () => (await waitStatus(stage, runId)) === status);

/** A run that has called another, and that one. */
async function parentAndChild(stage: Stage): Promise<{ parent: Held; child: Held }> {
  const parent = await beginRun(stage);
  const child = await beginRun(stage);
  await park(stage, parent, { kind: "run", run_id: child.runId });
  return { parent, child };
}

const ends = (stage: Stage, held: Held, told: () => Promise<void>, release: object): Act => {
  const operation = held.operation("release", release);
  return {
    send: async () => {
      await done(stage, operation);
      await told();
    },
  };
};

const FAILURE = { kind: "application_error", message: "no", stack: null, retryable: false };

const WAITS: Write[] = [
  {
    name: "report a wait for a time",
    prepare: async (stage) => {
      const held = await beginRun(stage);
      return reports(stage, [waitsFor(held, { kind: "timer", timeout: "1h" })], () =>
        suspendAndResolve(stage, held, () => passTimeOf(stage, held)),
      );
    },
  },
  {
    name: "report a wait for a token",
    prepare: async (stage) => {
      const { id } = await stage.make("/v1/tokens");
      const held = await beginRun(stage);
      return reports(stage, [waitsFor(held, { kind: "token", token_id: id })], () =>
        suspendAndResolve(stage, held, () => stage.make(`/v1/tokens/${id}/complete`)),
      );
    },
  },
  {
    name: "report a wait for input",
    prepare: async (stage) => {
      const { session, held } = await beginSession(stage);
      return reports(stage, [waitsFor(held, { kind: "input", stream: "input" })], () =>
        suspendAndResolve(stage, held, () =>
          stage.make(`/api/sessions/${session.id}/inputs/input`, { data: 1, idempotency_key: newKey() }),
        ),
      );
    },
  },
  {
    name: "report a wait for a run",
    prepare: async (stage) => {
      const [held, child] = [await beginRun(stage), await beginRun(stage)];
      return reports(stage, [waitsFor(held, { kind: "run", run_id: child.runId })], () =>
        suspendAndResolve(stage, held, () =>
          done(stage, child.operation("release", { outcome: "succeeded" })),
        ),
      );
    },
  },
  {
    name: "suspend a run",
    prepare: async (stage) => {
      const held = await beginRun(stage);
      await park(stage, held, { kind: "timer", timeout: "1h" }, "parked");
      const operations = [
        held.operation("checkpoints/ready"),
        held.operation("release", { outcome: "suspended" }),
      ];
      return reports(stage, operations, async () => {
        await passTimeOf(stage, held);
        await resumesWith(stage, held.runId, "resolved");
      });
    },
  },
  {
    name: "a timer that is due",
    prepare: async (stage) => {
      const held = await beginRun(stage);
      await park(stage, held, { kind: "timer", timeout: "1h" });
      return {
        send: async () => {
          await passTimeOf(stage, held);
          await settled(stage, held, "resolved");
        },
        verify: () => resumesWith(stage, held.runId, "resolved"),
      };
    },
  },
  {
    name: "a wait whose time is over",
    prepare: async (stage) => {
      const { id } = await stage.make("/v1/tokens");
      const held = await beginRun(stage);
      await park(stage, held, { kind: "token", token_id: id, timeout: "1h" });
      return {
        send: async () => {
          await passTimeOf(stage, held);
          await settled(stage, held, "timed_out");
        },
        verify: () => resumesWith(stage, held.runId, "timed_out"),
      };
    },
  },
];

const EFFECTS: Write[] = [
  {
    name: "report steps",
    prepare: async (stage) => {
      const held = await beginRun(stage);
      const entries = [1, 2].map((position) => ({
        position,
        kind: "step",
        name: "step",
        value: { position },
      }));
      return reports(stage, [held.operation("steps", { entries })], async () =>
        assert.deepEqual(await journalOf(stage, held), ["step", "step"]),
      );
    },
  },
  {
    name: "report a token",
    prepare: async (stage) => {
      const tag = newKey();
      const held = await beginRun(stage);
      const operation = held.operation("tokens", { position: 1, tags: [tag] });
      return {
        send: async () => (await done(stage, operation)).map(({ result }) => sameAnywhere(result.value)),
        verify: async () => {
          assert.equal(await countTagged(stage, "tokens", tag), 1);
          assert.deepEqual(await journalOf(stage, held), ["token"]);
        },
      };
    },
  },
  {
    name: "report a child run",
    prepare: async (stage) => {
      const tag = newKey();
      const held = await beginRun(stage);
      const operation = held.operation("child-runs", { position: 1, task: "work", tags: [tag] });
      return reports(stage, [operation], async () => {
        assert.equal(await countTagged(stage, "runs", tag), 1);
        const [{ result }] = (await done(stage, operation)) as [Json];
        await stage.begin(result.value.id);
      });
    },
  },
  {
    name: "report output",
    prepare: async (stage) => {
      const { session, held } = await beginSession(stage);
      const records = [{ data: "one" }, { data: "two" }];
      return reports(
        stage,
        [held.operation("outputs", { position: 1, stream: "output", records })],
        async () => assert.deepEqual(await dataOf(stage, session.id, "output"), ["one", "two"]),
      );
    },
  },
  {
    name: "report that the state of the session was set",
    prepare: async (stage) => {
      const { session, held } = await beginSession(stage);
      const operations = [
        held.operation("states", { position: 1, action: "get" }),
        held.operation("states", { position: 2, action: "set", state: "one", expected: 0 }),
        held.operation("states", { position: 3, action: "set", state: "two" }),
      ];
      return reports(stage, operations, async () => {
        const { state, version } = await stage.get(`/api/sessions/${session.id}/state`);
        assert.deepEqual([state, version], ["two", 2]);
        assert.deepEqual(await journalOf(stage, held), ["state", "state", "state"]);
      });
    },
  },
  {
    name: "report input to a session whose run waits",
    prepare: async (stage) => {
      const { session, held: receiver } = await beginSession(stage);
      await park(stage, receiver, { kind: "input", stream: "input" });
      const held = await beginRun(stage);
      const fields = { position: 1, session_id: session.id, stream: "input", data: "from a run" };
      return reports(stage, [held.operation("inputs", fields)], async () => {
        assert.deepEqual(await dataOf(stage, session.id, "input"), ["from a run"]);
        await resumesWith(stage, receiver.runId, "resolved");
      });
    },
  },
  {
    name: "report input to an idle session",
    prepare: async (stage) => {
      const session = await idleSession(stage);
      const held = await beginRun(stage);
      const fields = { position: 1, session_id: session.id, stream: "input", data: "from a run" };
      return reports(stage, [held.operation("inputs", fields)], async () => {
        assert.equal((await sessionRow(stage, session.id)).turn, 2);
        await stage.begin((await stage.get(`/api/sessions/${session.id}`)).current_run_id);
      });
    },
  },
];

const ENDS: Write[] = [
  {
    name: "the end of a run that another waits for",
    prepare: async (stage) => {
      const { parent, child } = await parentAndChild(stage);
      const act = ends(stage, child, () => settled(stage, parent, "resolved"), { outcome: "succeeded" });
      return { ...act, verify: () => resumesWith(stage, parent.runId, "resolved") };
    },
  },
  {
    name: "the end of a turn without more input",
    prepare: async (stage) => {
      const { session, held } = await beginSession(stage, { input: "first" });
      const isIdle = (): Promise<void> =>
        goesOn("the session is idle", async () => (await sessionRow(stage, session.id)).idle);
      return ends(stage, held, isIdle, { outcome: "succeeded" });
    },
  },
  {
    name: "the end of a turn with more input",
    prepare: async (stage) => {
      const { session, held } = await beginSession(stage, { input: "first" });
      await stage.make(`/api/sessions/${session.id}/inputs/input`, { data: 2, idempotency_key: newKey() });
      const isNext = (): Promise<void> =>
        goesOn("the next turn begins", async () => (await sessionRow(stage, session.id)).turn === 2);
      const act = ends(stage, held, isNext, { outcome: "succeeded" });
      const verify = async (): Promise<void> =>
        void (await stage.begin((await stage.get(`/api/sessions/${session.id}`)).current_run_id));
      return { ...act, verify };
    },
  },
  {
    name: "the failure of a turn",
    prepare: async (stage) => {
      const { session, held } = await beginSession(stage);
      const hasFailed = (): Promise<void> =>
        goesOn("the session fails", async () => (await sessionRow(stage, session.id)).status === "failed");
      return ends(stage, held, hasFailed, { outcome: "failed", failure: FAILURE });
    },
  },
  {
    name: "the failure of a turn that leaves its session open, with more input",
    prepare: async (stage) => {
      const { session, held } = await beginSession(stage, { actor: KEPT_OPEN, input: "first" });
      await stage.make(`/api/sessions/${session.id}/inputs/input`, { data: 2, idempotency_key: newKey() });
      const isNext = (): Promise<void> =>
        goesOn("the next turn begins", async () => (await sessionRow(stage, session.id)).turn === 2);
      const act = ends(stage, held, isNext, { outcome: "failed", failure: FAILURE });
      const verify = async (): Promise<void> => {
        const { status, current_run_id, last_failure } = await stage.get(`/api/sessions/${session.id}`);
        assert.deepEqual([status, last_failure.run_id], ["open", held.runId]);
        await stage.begin(current_run_id);
      };
      return { ...act, verify };
    },
  },
  {
    name: "the end of the run of a closed session",
    prepare: async (stage) => {
      const { session, held } = await beginSession(stage);
      await stage.make(`/api/sessions/${session.id}/close`);
      const isTold = (): Promise<void> =>
        goesOn("its end is told", async () => {
          const left = await stage.site.db.query(
            sql`SELECT FROM awaited_endings WHERE run_id = ${uuidOf("run", held.runId)}`,
          );
          return left.length === 0;
        });
      return ends(stage, held, isTold, { outcome: "succeeded" });
    },
  },
];

export const RUN_WRITES: Write[] = [...EFFECTS, ...WAITS, ...ENDS];
