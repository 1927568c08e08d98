import type { Workspace } from "@keelson/contract";
import { ConflictError, TimeoutError } from "./errors.ts";
import type { CallOptions } from "./exchange.ts";
import type { Transport } from "./transport.ts";
import { workspacePath } from "./workspace-path.ts";

/** Options of what waits until a workspace is on its machine, or off it. */
export type SettleOptions = Pick<CallOptions, "signal"> & {
  /** Give up after this long with a TimeoutError; what was asked for goes on. Default two minutes. */
  timeoutMs?: number;
};

const DEFAULT_TIMEOUT_MS = 120_000;
/** The server answers within this, settled or not. */
const SERVER_WAIT_MS = 30_000;

/** Asks again until the workspace is as it was asked to be. */
async function settle(
  transport: Transport,
  id: string,
  verb: "connect" | "stop",
  isSettled: (workspace: Workspace) => boolean,
  { signal: outer, timeoutMs = DEFAULT_TIMEOUT_MS }: SettleOptions,
): Promise<Workspace> {
  const limit = AbortSignal.timeout(timeoutMs);
  const signal = outer === undefined ? limit : AbortSignal.any([outer, limit]);
  try {
    for (;;) {
      const workspace = await transport.request<Workspace>({
        method: "POST",
        path: workspacePath(id, `/${verb}`),
        body: { json: {} },
        repeatable: true,
        timeoutMs: transport.config.timeoutMs + SERVER_WAIT_MS,
        signal,
      });
      if (isSettled(workspace)) return workspace;
    }
  } catch (cause) {
    if (!limit.aborted || cause !== limit.reason) throw cause;
    const what = verb === "connect" ? "live" : "stopped";
    throw new TimeoutError({
      code: "timeout",
      message: `Workspace ${id} is not ${what} within ${timeoutMs} ms; it goes on`,
      cause,
    });
  }
}

function isLive({ id, materialization }: Workspace): boolean {
  if (materialization?.status !== "failed") return materialization?.status === "live";
  const reason = materialization.error?.message ?? "its machine did not say why";
  throw new ConflictError({
    code: "invalid_state",
    message: `Workspace ${id} could not be put on a machine: ${reason}`,
    details: { materialization },
  });
}

const isOff = ({ materialization }: Workspace): boolean =>
  materialization === null || materialization.status === "stopped" || materialization.status === "failed";

export const connectWorkspace = (
  transport: Transport,
  id: string,
  options: SettleOptions,
): Promise<Workspace> => settle(transport, id, "connect", isLive, options);

export const stopWorkspace = (transport: Transport, id: string, options: SettleOptions): Promise<Workspace> =>
  settle(transport, id, "stop", isOff, options);
