import type { RegisterWorker } from "@keelson/contract";
import { cleanProblem, type IsolationProbe } from "../sandboxes/probe-isolation.ts";
import type { SandboxMeans } from "../sandboxes/sandbox.ts";
import { TASK_UIDS, WORKSPACE_UIDS } from "../sandboxes/uid-ranges.ts";
import { HOST_ENTRY } from "./host-process.ts";
import { findClosed } from "./probe-task-uids.ts";
import { createUidClaims, type TaskUser } from "./task-users.ts";

/** How this agent runs tasks that ask for the namespace tier. */
export type NamespaceTier = {
  means: SandboxMeans;
  /** Null: the agent's own, which is not root. */
  userOf(environmentId: string): Promise<TaskUser | null>;
};

/** With the reason when it cannot run them. */
export type TaskTier = { namespace: NamespaceTier; problem: null } | { namespace: null; problem: string };

/** A task asks for a tier that this worker does not have: less is never given. */
export class TierUnavailable extends Error {
  override readonly name = "TierUnavailable";
}

/**
 * What the attacked tier of workspaces allows for tasks. Root gives each environment a uid of its own here in any case: root
 * without rights still owns the files of the machine.
 */
export async function openTaskTier(
  probe: IsolationProbe,
  place: { dataDir: string; agentFolder: string },
): Promise<TaskTier> {
  const { means } = probe;
  const refuse = (problem: string): TaskTier => ({ namespace: null, problem });
  if (probe.isolation !== "namespace" || means.bubblewrap === null) return refuse(probe.problems.join(" "));
  if (means.uids === null)
    return { namespace: { means, userOf: () => Promise.resolve(null) }, problem: null };
  const { user, proc } = means.bubblewrap;
  // Processes of an environment have one uid, and one /proc would lead from each of them to the files that others see.
  if (user === "root" && proc === "host")
    return refuse("On this machine the sandbox has neither user namespaces nor its own /proc.");
  if (user === "dropped") {
    const closed = (await Promise.all([HOST_ENTRY, process.execPath].map(findClosed))).flat();
    if (closed.length > 0)
      return refuse(
        [...new Set(closed)].map((path) => `Run chmod o+x ${path} to let other users pass.`).join(" "),
      );
  }
  const at = WORKSPACE_UIDS.findIndex(({ first }) => first === means.uids?.first);
  const range = TASK_UIDS[at];
  if (range === undefined) throw new Error("There is no range of uids for tasks.");
  const uidOf = await createUidClaims({ ...place, range });
  const userOf = async (environmentId: string): Promise<TaskUser> => {
    const uid = await uidOf(environmentId);
    return { uid, gid: uid };
  };
  return { namespace: { means, userOf }, problem: null };
}

/** What the server is told. */
export const describeTaskTier = ({
  problem,
}: TaskTier): Pick<RegisterWorker, "task_isolation" | "task_isolation_problem"> =>
  problem === null
    ? { task_isolation: "namespace" }
    : { task_isolation: "process", task_isolation_problem: cleanProblem(problem) };
