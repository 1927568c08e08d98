import { useCallback, useState } from "react";
import { AuthenticationError, completeToken, ConflictError, type ConnectionOptions } from "../browser.ts";

/** Which completion token `useToken()` completes. */
export type TokenTarget = Pick<ConnectionOptions, "url" | "fetch"> & {
  /** The token's id. */
  id: string;
  /** `publicAccessToken` of the token's creation. */
  publicAccessToken: string;
};

/** What becomes of a completion token, as far as this page has done something about it. */
export type LiveToken = {
  /**
   * `completing`: the answer is on its way. `completed`: it was taken, or had been given before. `too_late`: another answer was
   * given before, or the time is over. `failed`: the server could not be reached; `complete()` may be called again.
   */
  status: "open" | "completing" | "completed" | "too_late" | "failed";
  /** What `complete()` has failed with; null unless `too_late` or `failed`. */
  error: unknown;
  /** Completes the token with any JSON, and resolves with whether this is its answer now. It never rejects. */
  complete(data?: unknown): Promise<boolean>;
};

type State = Pick<LiveToken, "status" | "error">;

const OPEN: State = { status: "open", error: null };

const failure = (error: unknown): State => ({
  status: error instanceof ConflictError || error instanceof AuthenticationError ? "too_late" : "failed",
  error,
});

/**
 * A completion token, such as an approval that a run waits for, with the token's own public token.
 *
 * @example
 * ```ts
 * import { createElement as h } from "react";
 * import { useToken, type TokenTarget } from "@keelson/sdk/react";
 *
 * export function Approval(target: TokenTarget) {
 *   const { status, complete } = useToken(target);
 *   if (status !== "open" && status !== "failed") return h("p", null, status);
 *   return h("button", { onClick: () => void complete({ approved: true }) }, "Approve");
 * }
 * ```
 */
export function useToken({ url, id, publicAccessToken, fetch }: TokenTarget): LiveToken {
  const [known, setKnown] = useState<{ id: string; state: State }>({ id, state: OPEN });
  const complete = useCallback(
    async (data?: unknown): Promise<boolean> => {
      const become = (state: State): void => setKnown({ id, state });
      become({ status: "completing", error: null });
      try {
        await completeToken({ url, id, publicAccessToken, data, ...(fetch !== undefined && { fetch }) });
        become({ status: "completed", error: null });
        return true;
      } catch (error) {
        become(failure(error));
        return false;
      }
    },
    [url, id, publicAccessToken, fetch],
  );
  // Of another token nothing is known.
  return { ...(known.id === id ? known.state : OPEN), complete };
}
