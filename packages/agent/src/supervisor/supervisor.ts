import type { Logger } from "../log.ts";
import type { WorkspaceCgroups } from "../limits/workspace-cgroup.ts";
import { giveToSandbox } from "../sandboxes/give-to-sandbox.ts";
import { DEFAULT_LIMITS, type SandboxLimits } from "../sandboxes/sandbox.ts";
import { meetsIsolation, probeIsolation } from "../sandboxes/probe-isolation.ts";
import type {
  OutputOffsets,
  OutputRead,
  ProcessSpec,
  ProcessState,
  ReadResult,
  SupervisorControl,
  Surroundings,
} from "./calls.ts";
import { endLeftovers, readRecord } from "./end-leftovers.ts";
import type { SpareSupervisor } from "./spare-supervisor.ts";
import { spawnSupervisor } from "./spawn-supervisor.ts";
import {
  connectSupervisor,
  SupervisorGoneError,
  type SupervisorConnection,
} from "./supervisor-connection.ts";
import { supervisorFolder, type SupervisorRecord } from "./supervisor-folder.ts";

export type { ProcessExit, ProcessSpec, ProcessState, Surroundings } from "./calls.ts";

/** The supervisor of one materialization. When it is gone its calls throw `SupervisorGoneError`. */
export interface Supervisor {
  /** Resolves when the connection has ended: after `stop` or `release`, or because the supervisor died. */
  readonly gone: Promise<void>;
  /** Makes ready what can be before an exec may begin, so that its start takes less; it is to be started or dropped. */
  prepare(spec: ProcessSpec): Promise<void>;
  /** What was prepared is not started. */
  drop(id: string): Promise<void>;
  /** Starts a process, once for its id. What cannot be started has an exit that says so. */
  start(spec: ProcessSpec): Promise<void>;
  list(): Promise<ProcessState[]>;
  /**
   * The output after these offsets as soon as there is some, and the exit with the last of it. What is before the offsets
   * is dropped; a process whose output is not read waits when its buffer is full. An aborted read has no chunks.
   */
  readOutput(id: string, after: OutputOffsets, signal?: AbortSignal): Promise<OutputRead>;
  /** Gives the bytes taken in all, which are fewer when the program does not read. */
  writeInput(id: string, offset: number, bytes: Buffer, closed: boolean): Promise<number>;
  /** Obeyed once for its sequence number. */
  control(id: string, control: SupervisorControl): Promise<void>;
  /** Ends a process: hangs up or terminates, and kills what does not end. It is `closed` or `cancelled`. */
  end(id: string): Promise<void>;
  /** Nobody asks for this process again: nothing of it is kept from its end on. */
  forget(id: string): Promise<void>;
  /** Ends everything and the supervisor; resolves when no process is left. */
  stop(): Promise<void>;
  /** Lets go of it and leaves it running, for the agent's next process to adopt. */
  release(): void;
}

export type SupervisorPlace = {
  dataDir: string;
  materializationId: string;
  logger?: Logger;
  /** Absent or null: the agent may have none. */
  cgroups?: WorkspaceCgroups | null;
};

export type StartSupervisorOptions = SupervisorPlace & {
  surroundings: Surroundings;
  limits?: Partial<Omit<SandboxLimits, "cgroup">>;
  /** How long it waits for an agent before it ends everything. Default two minutes. */
  orphanTimeoutMs?: number;
  /** Where one may be that is booted already. */
  spares?: SpareSupervisor;
  /** To be called when the files are the sandbox's, and before anything of it runs. */
  onGiven?(): void;
  /** Processes that will most likely be started at once. Asked for as late as it can be. */
  first?(): ProcessSpec[];
};

const ORPHAN_TIMEOUT_MS = 120_000;

/**
 * Starts the supervisor of a materialization, in the isolation asked for or not at all.
 *
 * @throws Error with a message for the workspace's users when the isolation, or `network: "off"`, cannot be given here.
 */
export async function startSupervisor(options: StartSupervisorOptions): Promise<Supervisor> {
  const { dataDir, materializationId, surroundings } = options;
  const probe = await probeIsolation({ dataDir });
  const refusal = meetsIsolation(probe, surroundings);
  if (refusal !== null) throw new Error(refusal);
  const folder = supervisorFolder(dataDir, materializationId);
  const { means } = probe;
  await giveToSandbox({ materializationId, surroundings, means });
  options.onGiven?.();
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const cgroup =
    options.cgroups?.create(materializationId, {
      processes: limits.processes,
      memoryMebibytes: surroundings.resources.memory,
      cores: surroundings.resources.cpu,
    }) ?? null;
  const told = {
    ...{ materializationId, folder, surroundings, means },
    limits: { ...limits, cgroup },
    orphanTimeoutMs: options.orphanTimeoutMs ?? ORPHAN_TIMEOUT_MS,
    first: () => options.first?.() ?? [],
  };
  await spawnSupervisor(told, options.spares).catch(async (error: unknown) => {
    await options.cgroups?.remove(materializationId);
    throw error;
  });
  const connection = await connectSupervisor(folder);
  if (connection === null) throw new Error("The supervisor ended as soon as it was started.");
  return toSupervisor(connection, options, await readRecord(folder));
}

/**
 * The supervisor that a former process of the agent left. When it is not alive any more, what remained of its processes is
 * ended, and there is none.
 */
export async function adoptSupervisor(place: SupervisorPlace): Promise<Supervisor | null> {
  const folder = supervisorFolder(place.dataDir, place.materializationId);
  const connection = await connectSupervisor(folder);
  if (connection !== null) {
    const supervisor = toSupervisor(connection, place, await readRecord(folder));
    // One that is just ending still takes connections, and answers none.
    if (await answers(supervisor)) return supervisor;
  }
  await endLeftovers(place);
  return null;
}

async function answers(supervisor: Supervisor): Promise<boolean> {
  try {
    await supervisor.list();
    return true;
  } catch (error) {
    if (error instanceof SupervisorGoneError) return false;
    throw error;
  }
}

function toSupervisor(
  connection: SupervisorConnection,
  place: SupervisorPlace,
  record: SupervisorRecord | null,
): Supervisor {
  return {
    gone: connection.closed,
    async prepare(spec) {
      await connection.call({ call: "prepare", spec });
    },
    async drop(id) {
      await connection.call({ call: "drop", id });
    },
    async start(spec) {
      await connection.call({ call: "start", spec });
    },
    list: async () => (await connection.call({ call: "list" })).result as ProcessState[],
    async readOutput(id, after, signal) {
      const { result, body } = await connection.call({ call: "read", id, after }, [], signal);
      const { chunks, exit } = result as ReadResult;
      let at = 0;
      const pieces = chunks.map(({ bytes, ...chunk }) => {
        at += bytes;
        return { ...chunk, data: body.subarray(at - bytes, at) };
      });
      return { chunks: pieces, exit };
    },
    async writeInput(id, offset, bytes, closed) {
      return (await connection.call({ call: "input", id, offset, closed }, [bytes])).result as number;
    },
    async control(id, control) {
      await connection.call({ call: "control", id, control });
    },
    async end(id) {
      await connection.call({ call: "end", id });
    },
    async forget(id) {
      await connection.call({ call: "forget", id });
    },
    async stop() {
      try {
        await connection.call({ call: "stop" });
      } catch (error) {
        if (!(error instanceof SupervisorGoneError)) throw error;
      }
      await connection.closed;
      // Also when it died: nothing of the workspace may be left.
      await endLeftovers(place, record);
    },
    release: () => connection.close(),
  };
}
