import type { AnyActor } from "./actor.ts";
import type { AnyTask } from "./task.ts";
import type { Queue } from "./queue.ts";
import type { DeclaredSchedule } from "./schedules.ts";
import type { Sandbox } from "./sandbox.ts";

/** What the modules of a bundle have declared so far. */
export type Registry = {
  tasks: Map<string, AnyTask>;
  actors: Map<string, AnyActor>;
  queues: Map<string, Queue>;
  schedules: Map<string, DeclaredSchedule>;
  sandboxes: Map<string, Sandbox>;
};

/** Held on globalThis, so that two copies of the SDK in one bundle declare into one registry. */
const KEY = Symbol.for("keelson.registry.v1");

export function registry(): Registry {
  const holder = globalThis as { [KEY]?: Registry };
  holder[KEY] ??= {
    tasks: new Map(),
    actors: new Map(),
    queues: new Map(),
    schedules: new Map(),
    sandboxes: new Map(),
  };
  return holder[KEY];
}
