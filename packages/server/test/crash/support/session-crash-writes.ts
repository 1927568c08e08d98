import assert from "node:assert/strict";
import { sql } from "../../../src/db/sql.ts";
import type { Json, Stage } from "./crash-stage.ts";
import {
  beginSession,
  countTagged,
  done,
  dataOf,
  goesOn,
  idleSession,
  liveStatus,
  newKey,
  openSession,
  park,
  resumesWith,
  sessionRow,
  uuidOf,
  waitStatus,
  type Write,
} from "./crash-write.ts";

const INPUT_WAIT = { kind: "input", stream: "input" };

const append = async (
  stage: Stage,
  sessionId: string,
  body: object,
  stream = "inputs/input",
): Promise<Json> => {
  const answer = await stage.insist("POST", `/api/sessions/${sessionId}/${stream}`, { body });
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  return answer.body;
};

export const SESSION_WRITES: Write[] = [
  {
    name: "create a session with a key",
    prepare: async (stage) => {
      const key = newKey();
      const body = { task: "talk", input: "first", tags: [key], idempotency_key: key };
      let session: Json;
      return {
        send: async () => (session = await stage.make("/api/sessions", body)),
        verify: async () => {
          assert.deepEqual(
            [await countTagged(stage, "sessions", key), await countTagged(stage, "runs", key)],
            [1, 1],
          );
          assert.deepEqual(await dataOf(stage, session.id, "input"), ["first"]);
          await stage.begin(session.current_run_id);
        },
      };
    },
  },
  {
    name: "create a session with an external id",
    prepare: async (stage) => {
      const key = newKey();
      const body = { task: "talk", input: "first", tags: [key], external_id: key };
      return {
        send: async () => (await stage.make("/api/sessions", body)).id,
        verify: async () => assert.equal(await countTagged(stage, "sessions", key), 1),
      };
    },
  },
  {
    name: "append to an input",
    prepare: async (stage) => {
      const session = await openSession(stage, { input: "first" });
      const body = { data: "second", idempotency_key: newKey() };
      return {
        send: () => append(stage, session.id, body),
        verify: async () => assert.deepEqual(await dataOf(stage, session.id, "input"), ["first", "second"]),
      };
    },
  },
  {
    name: "append a batch to an input that is not there",
    prepare: async (stage) => {
      const session = await openSession(stage);
      const body = { records: [{ data: 1 }, { data: 2 }, { data: 3 }], idempotency_key: newKey() };
      return {
        send: () => append(stage, session.id, body),
        verify: async () => assert.deepEqual(await dataOf(stage, session.id, "input"), [1, 2, 3]),
      };
    },
  },
  {
    name: "append to the input of a parked run",
    prepare: async (stage) => {
      const { session, held } = await beginSession(stage);
      await park(stage, held, INPUT_WAIT, "parked");
      const body = { data: "news", idempotency_key: newKey() };
      return {
        send: () => append(stage, session.id, body),
        verify: async () => {
          assert.equal(await liveStatus(stage, held.runId), "running");
          assert.equal(await waitStatus(stage, held.runId), "resolved");
          assert.deepEqual(await dataOf(stage, session.id, "input"), ["news"]);
        },
      };
    },
  },
  {
    name: "append to the input of a suspended run",
    prepare: async (stage) => {
      const { session, held } = await beginSession(stage);
      await park(stage, held, INPUT_WAIT);
      const body = { data: "news", idempotency_key: newKey() };
      return {
        send: () => append(stage, session.id, body),
        verify: () => resumesWith(stage, held.runId, "resolved"),
      };
    },
  },
  {
    name: "append to the input of an idle session",
    prepare: async (stage) => {
      const session = await idleSession(stage);
      const body = { data: "again", idempotency_key: newKey() };
      return {
        send: () => append(stage, session.id, body),
        verify: async () => {
          assert.equal((await sessionRow(stage, session.id)).turn, 2);
          assert.deepEqual(await dataOf(stage, session.id, "input"), ["again"]);
          await stage.begin((await stage.get(`/api/sessions/${session.id}`)).current_run_id);
        },
      };
    },
  },
  {
    name: "withdraw an input",
    prepare: async (stage) => {
      const session = await openSession(stage, { input: "first" });
      await append(stage, session.id, { data: "second" });
      return {
        send: async () => {
          const answer = await stage.insist("DELETE", `/api/sessions/${session.id}/inputs/input/1`);
          assert.equal(answer.status, 200, JSON.stringify(answer.body));
          return [answer.body.sequence, answer.body.data];
        },
        verify: async () => {
          assert.deepEqual(await dataOf(stage, session.id, "input"), [null, "second"]);
          const held = await stage.begin(session.current_run_id);
          const waits = [{ position: 1, name: "wait", ...INPUT_WAIT }];
          const [told] = await done(stage, held.operation("waits", { waits, parked: true }));
          assert.deepEqual(
            told.result.waits.map(({ value }: Json) => value.data),
            ["second"],
          );
        },
      };
    },
  },
  {
    name: "append to an output",
    prepare: async (stage) => {
      const session = await openSession(stage);
      await append(stage, session.id, { data: 1 }, "outputs/output");
      const body = { records: [{ data: 2 }, { data: 3 }], idempotency_key: newKey() };
      return {
        send: () => append(stage, session.id, body, "outputs/output"),
        verify: async () => assert.deepEqual(await dataOf(stage, session.id, "output"), [1, 2, 3]),
      };
    },
  },
  {
    name: "set the state of a session",
    prepare: async (stage) => {
      const { id } = await openSession(stage);
      const path = `/api/sessions/${id}/state`;
      await stage.insist("PUT", path, { body: { state: 1 } });
      const body = { state: { n: 2 }, if_version: 1, idempotency_key: newKey() };
      return {
        send: async () => {
          const answer = await stage.insist("PUT", path, { body });
          assert.equal(answer.status, 200, JSON.stringify(answer.body));
          return answer.body;
        },
        verify: async () => {
          const { state, version } = await stage.get(path);
          assert.deepEqual([state, version], [{ n: 2 }, 2]);
        },
      };
    },
  },
  {
    name: "update a session",
    prepare: async (stage) => {
      const { id } = await openSession(stage);
      const body = { metadata: { mood: "calm" }, tags: ["updated"] };
      return {
        send: async () => {
          const answer = await stage.insist("PATCH", `/api/sessions/${id}`, { body });
          assert.equal(answer.status, 200, JSON.stringify(answer.body));
          return [answer.body.metadata, answer.body.tags];
        },
        verify: async () =>
          assert.deepEqual((await stage.get(`/api/sessions/${id}`)).metadata, body.metadata),
      };
    },
  },
  {
    name: "close a session whose run waits for input",
    prepare: async (stage) => {
      const { session, held } = await beginSession(stage);
      await park(stage, held, INPUT_WAIT);
      return {
        send: async () => (await stage.make(`/api/sessions/${session.id}/close`)).closed_at,
        verify: () => resumesWith(stage, held.runId, "resolved"),
      };
    },
  },
  {
    name: "cancel a session whose run waits",
    prepare: async (stage) => {
      const { session, held } = await beginSession(stage);
      await park(stage, held, INPUT_WAIT);
      return {
        send: async () => (await stage.make(`/api/sessions/${session.id}/cancel`)).closed_at,
        verify: async () => assert.equal((await stage.get(`/v1/runs/${held.runId}`)).status, "cancelled"),
      };
    },
  },
  {
    name: "the end of a session's time",
    prepare: async (stage) => {
      const { session, held } = await beginSession(stage, { expires_at: "2100-01-01T00:00:00.000Z" });
      await park(stage, held, INPUT_WAIT);
      return {
        send: async () => {
          await passTime(stage, session.id);
          await goesOn(
            "the session is over",
            async () => (await sessionRow(stage, session.id)).status === "expired",
          );
        },
        verify: () => resumesWith(stage, held.runId, "resolved"),
      };
    },
  },
  {
    name: "create a public access token",
    prepare: async (stage) => {
      const { id } = await openSession(stage);
      const scope = { type: "session.output.read", session: { type: "id", id }, stream: "new" };
      const body = { scope, idempotency_key: newKey() };
      return {
        send: () => stage.make("/api/public-access-tokens", body),
        verify: async () => {
          const [row] = await stage.site.db.query<{ count: number }>(
            sql`SELECT count(*) AS count FROM public_access_tokens WHERE session_id = ${uuidOf("sess", id)}`,
          );
          assert.equal(Number(row?.count), 1);
        },
      };
    },
  },
  {
    name: "append with a public access token of one use",
    prepare: async (stage) => {
      const { id } = await openSession(stage);
      const scope = { type: "session.input.send", session: { type: "id", id }, stream: "input" };
      const access = await stage.make("/api/public-access-tokens", { scope, max_uses: 1 });
      const body = { data: "from a browser", idempotency_key: newKey() };
      return {
        send: async () => {
          const options = { as: access.public_access_token, body };
          const answer = await stage.insist("POST", `/api/v1/sessions/${id}/inputs/input`, options);
          assert.equal(answer.status, 201, JSON.stringify(answer.body));
          return answer.body;
        },
        verify: async () => {
          assert.deepEqual(await dataOf(stage, id, "input"), ["from a browser"]);
          const [row] = await stage.site.db.query<{ uses: number }>(
            sql`SELECT uses FROM public_access_tokens WHERE id = ${uuidOf("pat", access.id)}`,
          );
          assert.equal(row?.uses, 1);
        },
      };
    },
  },
];

const passTime = async (stage: Stage, sessionId: string): Promise<void> => {
  await stage.site.db.query(sql`
    UPDATE sessions SET expires_at = now() WHERE id = ${uuidOf("sess", sessionId)} AND status = 'open'`);
};
