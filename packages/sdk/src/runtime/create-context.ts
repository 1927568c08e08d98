import type { Client } from "../client/client.ts";
import { createContinueAs, type TaskContext } from "../continue-as.ts";
import { findCurrentRun, type LocateRun } from "../current-run.ts";
import { createDurableCalls } from "../durable.ts";
import { UsageError } from "../keelson-error.ts";
import { createSession } from "../session.ts";
import type { SessionDefaults } from "../session-input.ts";
import type { RunWorkspace } from "../workspace.ts";
import type { DurableRun } from "./durable/durable-run.ts";
import { createLogger } from "./logger.ts";
import { createRunClient } from "./run-client.ts";
import { createMetadata } from "./run-metadata.ts";
import { createUsage } from "./run-usage.ts";
import { createRunWorkspace } from "./run-workspace.ts";

/** What the getters of a context give. */
const MADE = Symbol("made");

type Made = { durable: DurableRun; workspace: RunWorkspace | null; client: Client | null };
type WithMade = { [MADE]: Made };

/**
 * The client is made when it is asked for, and the workspace is not enumerable: a context may be spread where there is none. All
 * contexts have the same two functions: an object with getters of its own has a shape of its own, which V8 collects late, and
 * that took more time than all else of a short run.
 */
const GETTERS = {
  workspace: {
    get(this: WithMade): RunWorkspace {
      const { durable, workspace } = this[MADE];
      return workspace ?? missingWorkspace(durable.input.run.workspace_id);
    },
  },
  client: {
    enumerable: true,
    get(this: WithMade): Client {
      const made = this[MADE];
      return (made.client ??= createRunClient(made.durable));
    },
  },
};

function missingWorkspace(workspaceId: string | null): never {
  throw new UsageError(
    workspaceId === null
      ? "The run works in no workspace. Start it with `workspaceId`, or declare a `sandbox` on its task."
      : "This worker did not give the run its workspace; update its agent.",
  );
}

/** The second argument of the code of a run. */
export function createContext(durable: DurableRun, defaults: SessionDefaults): TaskContext {
  const { run, host, signal, session } = durable.input;
  // The context is of its run wherever it is used; whether that is inside a step, only the place of the call tells.
  const locate: LocateRun = () => {
    const current = findCurrentRun();
    return current?.run === durable ? current : { run: durable, step: null, nameMessage: null };
  };
  const isRepeated = (): boolean => locate("").step === null && durable.replaying;
  const { workspace } = durable.input;
  const made: Made = {
    durable,
    workspace: workspace ? createRunWorkspace(workspace, host, locate) : null,
    client: null,
  };
  const context: Omit<TaskContext, keyof typeof GETTERS> = {
    run: {
      id: run.id,
      task: run.task,
      actor: run.actor,
      queue: run.queue,
      tags: run.tags,
      metadata: run.metadata,
      createdAt: new Date(run.created_at),
      projectId: run.project_id,
      environmentId: run.environment_id,
      deploymentId: run.deployment_id,
      deploymentVersion: run.deployment_version,
      parentRunId: run.parent_run_id,
      scheduleId: run.schedule_id,
      workspaceId: run.workspace_id,
      continuations: run.continuations ?? 0,
    },
    attempt: { number: run.attempt_number, max: run.max_attempts },
    signal,
    secrets: Object.freeze({ ...durable.input.secrets }),
    logger: createLogger(host, isRepeated),
    metadata: createMetadata(run.metadata, host, isRepeated),
    usage: createUsage(durable, isRepeated),
    session: session === null ? null : createSession(session, run.turn ?? 1, locate, defaults),
    ...createDurableCalls(locate),
    continueAs: createContinueAs(locate, run.actor === null),
  };
  Object.defineProperty(context, MADE, { value: made });
  Object.defineProperty(context, "workspace", GETTERS.workspace);
  Object.defineProperty(context, "client", GETTERS.client);
  return context as TaskContext;
}
