import type {
  DeploymentManifest,
  EntrypointDeclaration,
  QueueDeclaration,
  SandboxDeclaration,
} from "@keelson/contract";
import type { AnyActor } from "../actor.ts";
import { toWireFolders } from "../check-isolation.ts";
import { toWireDuration } from "../duration-input.ts";
import { describePayload } from "../payload-schema.ts";
import type { Queue } from "../queue.ts";
import { registry } from "../registry.ts";
import { toWireRetry } from "../retry-options.ts";
import { toWireDefinition } from "../schedule-definition.ts";
import type { Sandbox } from "../sandbox.ts";
import type { AnyTask, TaskOptions } from "../task.ts";
import { UsageError } from "../keelson-error.ts";

/** What tasks and actors declare alike. */
function declareEntrypoint(id: string, options: Readonly<TaskOptions>): EntrypointDeclaration {
  const declaration: EntrypointDeclaration = { id };
  if (options.description !== undefined) declaration.description = options.description;
  if (options.queue !== undefined)
    declaration.queue = typeof options.queue === "string" ? options.queue : options.queue.name;
  if (options.retry !== undefined) declaration.retry = toWireRetry(options.retry);
  if (options.maxDuration !== undefined)
    declaration.max_duration = toWireDuration(options.maxDuration, "maxDuration");
  if (options.ttl !== undefined) declaration.ttl = toWireDuration(options.ttl, "ttl");
  if (options.execution !== undefined) declaration.execution = options.execution;
  if (options.memoryMb !== undefined) declaration.memory_mb = options.memoryMb;
  if (options.isolation !== undefined) declaration.isolation = options.isolation;
  if (options.folders !== undefined) declaration.folders = toWireFolders(options.folders);
  if (options.secrets !== undefined) declaration.secrets = [...options.secrets];
  if (options.permissions !== undefined) declaration.permissions = [...new Set(options.permissions)];
  if (options.sandbox !== undefined)
    declaration.sandbox = typeof options.sandbox === "string" ? options.sandbox : options.sandbox.id;
  return declaration;
}

function declareTask(task: AnyTask): EntrypointDeclaration {
  const declaration = declareEntrypoint(task.id, task.options);
  const { mcp } = task.options;
  if (mcp !== undefined) declaration.mcp = { description: mcp.description };
  const schema = task.payload === null ? null : describePayload(task.payload);
  return schema === null ? declaration : { ...declaration, payload_schema: schema };
}

function declareActor(actor: AnyActor): EntrypointDeclaration {
  if (actor.options.idleTimeout !== undefined) toWireDuration(actor.options.idleTimeout, "idleTimeout");
  const { sessionOnFailure = "keep_open", whileBusy } = actor.options;
  return {
    ...declareEntrypoint(actor.id, actor.options),
    // Always: a deployment without it was made by an SDK whose failed turns end sessions.
    session_on_failure: sessionOnFailure,
    ...(whileBusy !== undefined && { while_busy: whileBusy }),
  };
}

function declareQueue(queue: Queue): QueueDeclaration {
  const declaration: QueueDeclaration = { name: queue.name };
  if (queue.concurrencyLimit !== undefined) declaration.concurrency_limit = queue.concurrencyLimit;
  if (queue.concurrencyKeyLimit !== undefined) declaration.concurrency_key_limit = queue.concurrencyKeyLimit;
  return declaration;
}

function declareSandbox({ id, isolation, resources, env, setup, network }: Sandbox): SandboxDeclaration {
  const declaration: SandboxDeclaration = { id };
  if (isolation !== undefined) declaration.isolation = isolation;
  if (env !== undefined) declaration.env = { ...env };
  if (network !== undefined) declaration.network = network;
  if (setup !== undefined) declaration.setup = [...setup];
  if (resources !== undefined)
    declaration.resources = { cpu: resources.cpu ?? null, memory: resources.memoryMb ?? null };
  return declaration;
}

/** A mistake in a declaration is found when the bundle is built; the message says whose it is. */
function naming<T>(kind: string, name: string, declare: () => T): T {
  try {
    return declare();
  } catch (error) {
    throw new UsageError(`${kind} "${name}": ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}

const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/**
 * What the loaded modules declared, sorted, as the wire has it. Passed through JSON, so that schema objects of
 * libraries leave their hidden properties behind.
 */
export function buildManifest(): DeploymentManifest {
  const { tasks, actors, queues, schedules, sandboxes } = registry();
  const manifest: DeploymentManifest = {
    tasks: [...tasks.values()]
      .sort((a, b) => byText(a.id, b.id))
      .map((task) => naming("task", task.id, () => declareTask(task))),
    actors: [...actors.values()]
      .sort((a, b) => byText(a.id, b.id))
      .map((actor) => naming("actor", actor.id, () => declareActor(actor))),
    queues: [...queues.values()].sort((a, b) => byText(a.name, b.name)).map(declareQueue),
    schedules: [...schedules.values()]
      .sort((a, b) => byText(a.id, b.id))
      .map(({ id, ...definition }) =>
        naming("schedule", id, () => ({ id, ...toWireDefinition(definition) })),
      ),
    sandboxes: [...sandboxes.values()].sort((a, b) => byText(a.id, b.id)).map(declareSandbox),
  };
  return JSON.parse(JSON.stringify(manifest)) as DeploymentManifest;
}
