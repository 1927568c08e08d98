import type { Materialization, Workspace } from "./resources.ts";
import { toMilliseconds, type DurationInput } from "../duration-input.ts";
import { ConflictError, TimeoutError } from "./errors.ts";
import type { CallOptions } from "./exchange.ts";
import type { Transport } from "./transport.ts";
import { workspacePath } from "./workspace-path.ts";
import { workspaceShape } from "./wire-shapes.ts";

/** Options of what waits until a workspace is on its machine, or off it. */
export type SettleOptions = Pick<CallOptions, "signal"> & {
  /** Reject with a TimeoutError after this time; the server continues. Default two minutes. */
  timeout?: DurationInput;
};

/** The server answers within this, settled or not. */
export const SERVER_WAIT_MS = 30_000;

/** Asks again until the workspace is as it was asked to be. */
async function settle(
  transport: Transport,
  id: string,
  verb: "connect" | "stop",
  isSettled: (workspace: Workspace) => boolean,
  { signal: outer, timeout = "2m" }: SettleOptions,
): Promise<Workspace> {
  const timeoutMs = toMilliseconds(timeout, "timeout");
  const limit = AbortSignal.timeout(timeoutMs);
  const signal = outer === undefined ? limit : AbortSignal.any([outer, limit]);
  try {
    for (;;) {
      const workspace = await transport.ask(workspaceShape, {
        method: "POST",
        path: workspacePath(id, `/${verb}`),
        body: { json: {} },
        repeatable: true,
        requestTimeout: transport.config.timeoutMs + SERVER_WAIT_MS,
        signal,
      });
      if (isSettled(workspace)) return workspace;
    }
  } catch (cause) {
    if (!limit.aborted || cause !== limit.reason) throw cause;
    const what = verb === "connect" ? "live" : "stopped";
    throw new TimeoutError({
      code: "timeout",
      message: `Workspace ${id} is not ${what} within ${timeoutMs} ms; it continues`,
      cause,
    });
  }
}

function uncommitted(id: string, materialization: Materialization): ConflictError {
  const reason = materialization.error?.message ?? "it did not say why.";
  return new ConflictError({
    code: "invalid_state",
    message: `The worker of workspace ${id} holds files that it could not commit: ${reason} Recover or discard them`,
    details: { materialization },
  });
}

function isLive({ id, materialization }: Workspace): boolean {
  if (materialization?.status === "uncommitted") throw uncommitted(id, materialization);
  if (materialization?.status !== "failed") return materialization?.status === "live";
  const reason = materialization.error?.message ?? "its machine did not say why";
  throw new ConflictError({
    code: "invalid_state",
    message: `Workspace ${id} could not be put on a machine: ${reason}`,
    details: { materialization },
  });
}

/**
 * Whether the worker has ended what was to stop. A workspace that is wanted again shows its next materialization, which is not
 * to be stopped as well.
 *
 * @throws ConflictError when its worker holds what it could not commit: it stays so until somebody does something.
 */
function isOff({ id, materialization }: Workspace): boolean {
  if (materialization === null) return true;
  if (materialization.status === "uncommitted") throw uncommitted(id, materialization);
  return materialization.status !== "stopping";
}

export const connectWorkspace = (
  transport: Transport,
  id: string,
  options: SettleOptions,
): Promise<Workspace> => settle(transport, id, "connect", isLive, options);

export const stopWorkspace = (transport: Transport, id: string, options: SettleOptions): Promise<Workspace> =>
  settle(transport, id, "stop", isOff, options);
