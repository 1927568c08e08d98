import type { Pty, Workspace } from "@keelson/contract";
import type { ReactNode } from "react";
import type { FollowState } from "../../../api/use-follow.ts";
import { Status } from "../../../ui/status.tsx";
import { visibleText } from "../../../ui/visible-text.ts";

export type PtyEnd = Pick<Pty, "status" | "exit_code"> & { signal: string | null };

/** How the terminal is, in words: that it is waited for, cut off from the server, or has ended, and how. */
export function PtyState({
  pty,
  workspace,
  follow,
  isCurrent,
  isCut,
  ended,
}: {
  pty: Pty;
  workspace: Workspace;
  follow: FollowState;
  isCurrent: boolean;
  isCut: boolean;
  ended: PtyEnd | null;
}): ReactNode {
  const status = ended?.status ?? pty.status;
  return (
    <div role="status" className="flex flex-wrap items-center gap-x-3 gap-y-1 text-sm text-quiet">
      <Status value={status} />
      <span>{describe({ pty, workspace, follow, isCurrent, ended, status })}</span>
      {isCut && <span>The start of the output is no longer stored.</span>}
      {pty.error !== null && <span className="break-words text-bad">{visibleText(pty.error.message)}</span>}
    </div>
  );
}

function describe({
  pty,
  workspace,
  follow,
  isCurrent,
  ended,
  status,
}: {
  pty: Pty;
  workspace: Workspace;
  follow: FollowState;
  isCurrent: boolean;
  ended: PtyEnd | null;
  status: Pty["status"];
}): string {
  if (ended !== null || (status !== "pending" && status !== "running"))
    return describeEnd(ended ?? pty, status);
  if (pty.closing) return "The terminal is closing and takes no more input.";
  if (follow === "reconnecting") return "Connection lost, trying again. What you type is kept.";
  if (status === "pending") return workspace.status_reason?.message ?? "Waiting for the workspace to start …";
  return isCurrent ? "Press Shift+Escape to leave the terminal." : "Loading earlier output …";
}

function describeEnd({ exit_code: code }: Pick<Pty, "exit_code">, status: Pty["status"]): string {
  if (status === "exited")
    return code === null ? "The program was ended." : `The program ended with exit code ${code}.`;
  if (status === "closed") return "It was hung up.";
  return "The terminal was lost with its worker.";
}
