import { task } from "@keelson/sdk";

/** Does nothing, in the mode that a task has by default. */
export const noop = task({ id: "noop", run: () => null });
