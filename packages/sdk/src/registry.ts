import type { AnyTask } from "./task.ts";
import type { Queue } from "./queue.ts";

/** What the modules of a bundle have declared so far. */
export type Registry = { tasks: Map<string, AnyTask>; queues: Map<string, Queue> };

/** Held on globalThis, so that two copies of the SDK in one bundle declare into one registry. */
const KEY = Symbol.for("keelson.registry.v1");

export function registry(): Registry {
  const holder = globalThis as { [KEY]?: Registry };
  holder[KEY] ??= { tasks: new Map(), queues: new Map() };
  return holder[KEY];
}
