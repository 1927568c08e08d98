import type { Clock } from "../clock.ts";
import { LimitWatch, type Watched } from "../limits/limit-watch.ts";
import { endMarked } from "../sandboxes/find-processes.ts";
import { findStartProblem } from "../sandboxes/find-program.ts";
import { resolveFolder, type WorkingFolder } from "../sandboxes/resolve-folder.ts";
import { buildCommand, type SandboxedCommand } from "../sandboxes/sandbox-command.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import type { GroupReaper } from "../task-hosts/group-reaper.ts";
import type { OutputOffsets, OutputRead, ProcessSpec, ProcessState, SupervisorControl } from "./calls.ts";
import { contain } from "./containment.ts";
import { isOutOfProcesses, launchExec, type Launched } from "./launch.ts";
import { launchPty } from "./launch-pty.ts";
import { canPark } from "./parked-launcher.ts";
import { Parking } from "./parking.ts";
import { SupervisedProcess, type Launch } from "./supervised-process.ts";

/** What is launched, and what is to be done when it has ended. */
type Held = Awaited<ReturnType<Launch>> & { settle(): void };

/** The processes of one workspace, from their start until they are forgotten. */
export class Supervision {
  readonly #sandbox: Sandbox;
  readonly #clock: Clock;
  readonly #reaper: GroupReaper;
  readonly #parking: Parking;
  readonly #processes = new Map<string, { process: SupervisedProcess; started: Promise<void> }>();
  /** Sandboxes of execs that may not begin yet. */
  readonly #prepared = new Map<string, Promise<Held>>();
  readonly #limits: LimitWatch;
  #stopping: Promise<void> | null = null;

  constructor(sandbox: Sandbox, clock: Clock, reaper: GroupReaper) {
    this.#sandbox = sandbox;
    this.#clock = clock;
    this.#reaper = reaper;
    this.#parking = new Parking(withFiles(sandbox, true));
    this.#limits = new LimitWatch(sandbox, () => this.#listWatched(), clock);
  }

  /** From now on what the next exec runs in is made ready ahead of it. */
  prepareAhead(): void {
    if (this.#stopping === null) this.#parking.open();
  }

  /**
   * Sets up the sandbox of an exec that will most likely be started: that takes about as long as it takes to ask whether it
   * may be. Nothing of it is seen before it is started, and what is not is dropped.
   */
  prepare(spec: ProcessSpec): void {
    const { isolation } = this.#sandbox.surroundings;
    if (spec.kind !== "exec" || this.#stopping !== null) return;
    // Only there does anything wait for the word to begin.
    if (isolation !== "namespace" && !(canPark(this.#sandbox, spec) && this.#parking.has())) return;
    if (this.#processes.has(spec.id) || this.#prepared.has(spec.id)) return;
    const held = this.#launch(spec);
    this.#prepared.set(spec.id, held);
    // What is wrong with it is told when it is started.
    held.catch(() => this.#prepared.delete(spec.id));
  }

  /** Ends what was prepared and not started: an exec, or all. */
  async dropPrepared(id?: string): Promise<void> {
    const dropped = [...this.#prepared].filter(([key]) => id === undefined || key === id);
    for (const [key] of dropped) this.#prepared.delete(key);
    await Promise.all(dropped.map(([, held]) => held.then(drop, () => undefined)));
  }

  /** Starts a process, once for its id; resolves when it runs or has failed to. */
  start(spec: ProcessSpec): Promise<void> {
    const present = this.#processes.get(spec.id);
    if (present !== undefined) return present.started;
    if (this.#stopping !== null) throw new Error("The workspace is stopping.");
    const process = new SupervisedProcess(
      spec,
      this.#sandbox.surroundings.isolation === "namespace",
      this.#clock,
    );
    const held = this.#takePrepared(spec);
    const started = process.start(async () => {
      const launch = await held;
      void process.ended.then(() => launch.settle());
      return launch;
    });
    this.#processes.set(spec.id, { process, started });
    void started.then(() => this.#limits.begin());
    return started;
  }

  list(): ProcessState[] {
    return [...this.#processes.values()].map(({ process }) => process.state());
  }

  read(id: string, after: OutputOffsets, signal: AbortSignal): Promise<OutputRead> {
    return this.#find(id).process.read(after, signal);
  }

  async write(id: string, offset: number, bytes: Buffer, closed: boolean): Promise<number> {
    const { process, started } = this.#find(id);
    await started;
    return process.write(offset, bytes, closed);
  }

  async control(id: string, control: SupervisorControl): Promise<void> {
    const { process, started } = this.#find(id);
    await started;
    process.control(control);
  }

  /** Ends a process; it is `cancelled` or `closed`. Its exit is read as any other. */
  async end(id: string): Promise<void> {
    const { process, started } = this.#find(id);
    await started;
    process.end();
  }

  /** Nobody asks for this one again: nothing of it is kept from its end on. */
  forget(id: string): void {
    const { process } = this.#find(id);
    if (process.state().exit !== null) this.#processes.delete(id);
    else void process.ended.then(() => this.#processes.delete(id));
  }

  /** Ends every process; resolves when none is left, whatever became of its group. */
  stop(): Promise<void> {
    this.#stopping ??= (async () => {
      this.#parking.close();
      await this.dropPrepared();
      const all = [...this.#processes.values()];
      await Promise.all(all.map(({ started }) => started));
      for (const { process } of all) process.end();
      await Promise.all(all.map(({ process }) => process.ended));
      const { materializationId, uid } = this.#sandbox;
      await endMarked({ owner: materializationId, uid });
      this.#limits.close();
    })();
    return this.#stopping;
  }

  #find(id: string): { process: SupervisedProcess; started: Promise<void> } {
    const found = this.#processes.get(id);
    if (found === undefined) throw new Error(`There is no process ${id}.`);
    return found;
  }

  #takePrepared(spec: ProcessSpec): Promise<Held> {
    const prepared = this.#prepared.get(spec.id);
    this.#prepared.delete(spec.id);
    return prepared === undefined ? this.#launch(spec) : prepared.catch(() => this.#launch(spec));
  }

  #listWatched(): Watched[] {
    return [...this.#processes].flatMap(([id, { process }]) => {
      const pid = process.runningPid();
      return pid === null ? [] : [{ id, pid, exceed: (reason) => process.exceed(reason) }];
    });
  }

  async #launch(spec: ProcessSpec): Promise<Held> {
    const refusal = this.#limits.refuseStart();
    if (refusal !== null) throw new Error(refusal);
    const folder = resolveFolder(this.#sandbox.surroundings, spec.cwd);
    try {
      const { canWrite, explainFailure } = this.#limits.admit();
      const problem = findStartProblem(this.#sandbox, spec, folder);
      if (problem !== null) throw new Error(problem);
      const parked = canWrite && canPark(this.#sandbox, spec) ? this.#parking.take() : null;
      parked?.become(spec);
      const started = parked ?? (await this.#start(withFiles(this.#sandbox, canWrite), spec, folder));
      return this.#hold(started, { id: spec.id, explainFailure });
    } finally {
      folder.close();
    }
  }

  async #start(...given: Parameters<typeof launchNow>): Promise<Started> {
    try {
      return await launchNow(...given);
    } catch (error) {
      // Others may have taken all processes since the last look.
      const reason = isOutOfProcesses(error as Error) ? this.#limits.explainNoProcess() : null;
      throw reason === null ? error : new Error(reason, { cause: error });
    }
  }

  #hold(
    { launched, dispose }: Started,
    { id, explainFailure }: Pick<Held, "explainFailure"> & { id: string },
  ): Held {
    const { surroundings, materializationId } = this.#sandbox;
    this.#reaper.add(launched.pid);
    const settle = (): void => {
      this.#reaper.remove(launched.pid);
      dispose();
    };
    const contained = { materializationId, processId: id, pid: launched.pid };
    return { launched, containment: contain(surroundings.isolation, contained), explainFailure, settle };
  }
}

type Started = { launched: Launched; dispose(): void };

/** The sandbox of a program that may write files, or may not because the workspace is full. */
const withFiles = (sandbox: Sandbox, canWrite: boolean): Sandbox => {
  const { fileBytes, diskBytes } = sandbox.limits;
  return {
    ...sandbox,
    limits: { ...sandbox.limits, fileBytes: canWrite ? Math.min(fileBytes, diskBytes) : 0 },
  };
};

async function launchNow(sandbox: Sandbox, spec: ProcessSpec, folder: WorkingFolder): Promise<Started> {
  const command = buildCommand(sandbox, spec, folder);
  try {
    return { launched: await launch(command, spec), dispose: command.dispose };
  } catch (error) {
    command.dispose();
    throw error;
  }
}

const launch = async (command: SandboxedCommand, spec: ProcessSpec): Promise<Launched> =>
  spec.kind === "pty" ? launchPty(command, spec.cols ?? 80, spec.rows ?? 24) : launchExec(command);

async function drop({ launched, containment, settle }: Held): Promise<void> {
  launched.gate?.close();
  await containment.killAll();
  for (const { readable } of launched.outputs) readable.destroy();
  await launched.exited;
  settle();
}
