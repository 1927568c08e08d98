import assert from "node:assert/strict";
import { sql } from "../../../src/db/sql.ts";
import type { Answer } from "./caller.ts";
import type { Held, Json, Stage } from "./crash-stage.ts";
import {
  beginRun,
  countTagged,
  goesOn,
  newKey,
  park,
  resumesWith,
  sameAnywhere,
  uuidOf,
  type Act,
  type Write,
} from "./crash-write.ts";

const DATA = { choice: "yes" };

/** A token that a suspended run waits for. */
async function awaitedToken(stage: Stage): Promise<{ token: Json; held: Held }> {
  const token = await stage.make("/v1/tokens");
  const held = await beginRun(stage);
  await park(stage, held, { kind: "token", token_id: token.id });
  return { token, held };
}

/** The same request again finds the token as it left it. */
const settles = async (
  stage: Stage,
  call: (token: Json) => Promise<Answer>,
  shown: (body: Json) => Json,
): Promise<Act> => {
  const { token, held } = await awaitedToken(stage);
  return {
    send: async () => {
      const answer = await call(token);
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      return shown(answer.body);
    },
    verify: () => resumesWith(stage, held.runId, "resolved"),
  };
};

const COMPLETIONS: Record<string, (stage: Stage, token: Json) => Promise<Answer>> = {
  "an API key": (stage, { id }) =>
    stage.insist("POST", `/v1/tokens/${id}/complete`, { body: { data: DATA } }),
  "a user": (stage, { id }) => {
    const { user_token: as, project_id, environment_id } = stage.site.credentials;
    const body = { data: DATA, project_id, environment_id };
    return stage.insist("POST", `/api/tokens/${id}/complete`, { as, body });
  },
  "a browser": (stage, { id, public_access_token: as }) =>
    stage.insist("POST", `/api/v1/tokens/${id}/complete`, { as, body: { data: DATA } }),
  "a callback": (stage, { callback_url }) =>
    stage.insist("POST", new URL(callback_url).pathname, { body: DATA }),
};

export const TOKEN_WRITES: Write[] = [
  {
    name: "create a token",
    prepare: async (stage) => {
      const key = newKey();
      return {
        send: async () => sameAnywhere(await stage.make("/v1/tokens", { tags: [key], idempotency_key: key })),
        verify: async () => assert.equal(await countTagged(stage, "tokens", key), 1),
      };
    },
  },
  ...Object.entries(COMPLETIONS).map(([by, complete]): Write => ({
    name: `completion of a token by ${by}`,
    prepare: (stage) =>
      settles(
        stage,
        (token) => complete(stage, token),
        ({ token: { data, completed_at, completed_by } }) => [data, completed_at, completed_by],
      ),
  })),
  {
    name: "cancel a token",
    prepare: (stage) =>
      settles(
        stage,
        ({ id }) => stage.insist("POST", `/v1/tokens/${id}/cancel`),
        ({ status, updated_at }) => [status, updated_at],
      ),
  },
  {
    name: "the end of a token's time",
    prepare: async (stage) => {
      const { token, held } = await awaitedToken(stage);
      const id = uuidOf("tok", token.id);
      return {
        send: async () => {
          await stage.site.db.query(
            sql`UPDATE tokens SET timeout_at = now() WHERE id = ${id} AND status = 'pending'`,
          );
          await goesOn("the token expires", async () => {
            const [row] = await stage.site.db.query<{ status: string }>(
              sql`SELECT status FROM tokens WHERE id = ${id}`,
            );
            return row?.status === "expired";
          });
        },
        verify: () => resumesWith(stage, held.runId, "resolved"),
      };
    },
  },
];
