import type { IsolationProbe } from "./probe-isolation.ts";
import { chooseUid } from "./sandbox.ts";

/** Whom the files of a workspace belong to; a null uid: whoever runs the agent. */
export type SandboxUser = { uid: number | null };

/**
 * The user as whom the code of a run may work in the files of its workspace. Null when programs of the workspace could then
 * reach the run's process: they share the machine's /proc and have the same user, in no user namespace of their own.
 */
export function sandboxUserForTasks(probe: IsolationProbe, materializationId: string): SandboxUser | null {
  const { bubblewrap } = probe.means;
  const isReached =
    probe.isolation === "namespace" && bubblewrap?.user === "root" && bubblewrap.proc === "host";
  return isReached ? null : { uid: chooseUid(probe.means, probe, materializationId) };
}
