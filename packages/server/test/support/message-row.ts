import { decodeId } from "@keelson/contract";
import { sql } from "../../src/db/sql.ts";
import { newMessageId } from "../../../sdk/src/client/random.ts";
import type { ApiServer } from "./api-server.ts";

/** A message that a run has written to the stream `output` of its session, which is there. */
export async function insertMessage({ db }: ApiServer, session: string): Promise<string> {
  const id = newMessageId();
  await db.query(sql`
    INSERT INTO messages (environment_id, id, session_id, stream_id, run_id, attempt_number, epoch, status, first_sequence,
      last_sequence, data, created_at, ended_at)
    SELECT s.environment_id, ${decodeId("msg", id)}, s.id, t.id, s.current_run_id, 1, 1, 'complete', 1, 1, '"said"', now(), now()
    FROM sessions s JOIN streams t ON t.environment_id = s.environment_id AND t.session_id = s.id AND t.name = 'output'
    WHERE s.id = ${decodeId("sess", session)}`);
  return id;
}
