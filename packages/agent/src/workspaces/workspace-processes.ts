import type { HeldProcess, ProcessControl, ProcessInput, ProcessStart } from "@keelson/contract";
import type { PrepareOptions } from "./prepare-workspace.ts";
import type { WorkspaceFolder } from "./workspace-folder.ts";

/** What runs in one workspace. */
export type WorkspaceProcesses = {
  accept(start: ProcessStart): void;
  input(input: ProcessInput): void;
  control(control: ProcessControl): void;
  held(): HeldProcess[];
  /** Something runs that may change files. */
  busy(): boolean;
  /** Ends all processes and resolves when the end of each is reported. */
  endAll(): Promise<void>;
  /** Runs a command of the setup. `problem` is null when it succeeded; `output` is the last of what it printed. */
  runSetup(command: string, number: number): Promise<{ problem: string | null; output: string }>;
  /** Rejects when processes can no longer be run. */
  broken(): Promise<never>;
  /** Ends what is left, at once and without a report. */
  close(): Promise<void>;
};

export type ProcessesOptions = Omit<PrepareOptions, "folder" | "commit"> & {
  fields: { materialization_id: string; environment_id: string; epoch: number };
  folder: WorkspaceFolder;
  commit(cause: { kind: "exec" | "pty"; id: string }): Promise<string | null>;
};

export async function startProcesses(_options: ProcessesOptions): Promise<WorkspaceProcesses> {
  return {
    accept: () => undefined,
    input: () => undefined,
    control: () => undefined,
    held: () => [],
    busy: () => false,
    endAll: async () => undefined,
    runSetup: async () => ({ problem: null, output: "" }),
    broken: () => new Promise(() => undefined),
    close: async () => undefined,
  };
}
