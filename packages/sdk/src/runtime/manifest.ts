import type { DeploymentManifest, EntrypointDeclaration, QueueDeclaration } from "@keelson/contract";
import { toWireDuration } from "../duration-input.ts";
import { describePayload } from "../payload-schema.ts";
import type { Queue } from "../queue.ts";
import { registry } from "../registry.ts";
import { toWireRetry } from "../retry-options.ts";
import type { AnyTask } from "../task.ts";

function declareTask(task: AnyTask): EntrypointDeclaration {
  const { options } = task;
  const declaration: EntrypointDeclaration = { id: task.id };
  if (options.description !== undefined) declaration.description = options.description;
  const schema = task.payload === null ? null : describePayload(task.payload);
  if (schema !== null) declaration.payload_schema = schema;
  if (options.queue !== undefined)
    declaration.queue = typeof options.queue === "string" ? options.queue : options.queue.name;
  if (options.retry !== undefined) declaration.retry = toWireRetry(options.retry);
  if (options.maxDuration !== undefined)
    declaration.max_duration = toWireDuration(options.maxDuration, "maxDuration");
  if (options.ttl !== undefined) declaration.ttl = toWireDuration(options.ttl, "ttl");
  if (options.execution !== undefined) declaration.execution = options.execution;
  if (options.memoryMb !== undefined) declaration.memory_mb = options.memoryMb;
  return declaration;
}

function declareQueue(queue: Queue): QueueDeclaration {
  const declaration: QueueDeclaration = { name: queue.name };
  if (queue.concurrencyLimit !== undefined) declaration.concurrency_limit = queue.concurrencyLimit;
  if (queue.concurrencyKeyLimit !== undefined) declaration.concurrency_key_limit = queue.concurrencyKeyLimit;
  return declaration;
}

/** A mistake in a declaration is found when the bundle is built; the message says whose it is. */
function naming<T>(kind: string, name: string, declare: () => T): T {
  try {
    return declare();
  } catch (error) {
    throw new Error(`${kind} "${name}": ${error instanceof Error ? error.message : String(error)}`, {
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
  const { tasks, queues } = registry();
  const manifest: DeploymentManifest = {
    tasks: [...tasks.values()]
      .sort((a, b) => byText(a.id, b.id))
      .map((task) => naming("task", task.id, () => declareTask(task))),
    queues: [...queues.values()].sort((a, b) => byText(a.name, b.name)).map(declareQueue),
  };
  return JSON.parse(JSON.stringify(manifest)) as DeploymentManifest;
}
