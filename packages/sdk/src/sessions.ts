import { DEFAULT_INPUT_STREAM } from "@keelson/contract/plain";
import { locateOutsideStep, type LocateRun } from "./current-run.ts";
import { checkStreamName } from "./session-input.ts";
import { toRecord, type AppendOptions } from "./session-output.ts";

/** Options of `sessions.send()`. */
export type SendOptions = AppendOptions & {
  /** Default `input`. */
  stream?: string;
};

/** Other sessions of the environment, as the code of a run reaches them. */
export type Sessions = {
  /**
   * Sends input to a session of this environment, by its id or external id, once: up to 256 KiB of JSON. Rejects with
   * `RefusedError` when there is no such session or it takes no more input.
   */
  send(session: string | { externalId: string }, data: unknown, options?: SendOptions): Promise<void>;
};

export function createSessions(locate: LocateRun): Sessions {
  return {
    async send(session, data, options = {}) {
      const run = locateOutsideStep(locate, "sessions.send()");
      const { stream = DEFAULT_INPUT_STREAM } = options;
      const fields = {
        stream: checkStreamName(stream),
        ...(typeof session === "string" ? { session_id: session } : { external_id: session.externalId }),
        ...toRecord(data, options),
      };
      await run.effect("input", stream, (position) => ({ kind: "inputs", position, ...fields }));
    },
  };
}
