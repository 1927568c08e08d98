import { task } from "@keelson/sdk";

/** Does nothing, in the mode that a task has by default. */
export const noop = task({ id: "noop", run: () => null });

/** The same, in a process with other runs. */
export const noopShared = task({ id: "noop-shared", execution: "shared", run: () => null });
