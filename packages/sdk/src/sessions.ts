import { DEFAULT_INPUT_STREAM } from "@keelson/contract/plain";
import type { ActorLike, SentTo } from "./client/session-options.ts";
import { locateOutsideStep, type LocateRun } from "./current-run.ts";
import { checkText } from "./json-text.ts";
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
   * Sends input to a session of this environment once, by its id or external id: up to 256 KiB of JSON. While a turn of it is live, the
   * input does what its actor declares by `whileBusy`. Rejects with `RefusedError` when the session does not exist or takes no more
   * input, or is busy and its actor declares `"reject"`. `send<typeof chat>(session, data)` has the
   * types of the actor `chat`.
   */
  send<A extends ActorLike = ActorLike, const S extends string = "input">(
    session: string | { externalId: string },
    data: SentTo<A, S>,
    options?: SendOptions & { stream?: S },
  ): Promise<void>;
};

export function createSessions(locate: LocateRun): Sessions {
  return {
    async send(session, data, options: SendOptions = {}) {
      const run = locateOutsideStep(locate, "sessions.send()");
      const { stream = DEFAULT_INPUT_STREAM } = options;
      if (typeof session !== "string") checkText(session.externalId, "an external id");
      const fields = {
        stream: checkStreamName(stream),
        ...(typeof session === "string" ? { session_id: session } : { external_id: session.externalId }),
        ...toRecord(data, options),
      };
      await run.effect("input", stream, (position) => ({ kind: "inputs", position, ...fields }));
    },
  };
}
