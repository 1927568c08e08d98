import type { Clock } from "../clock.ts";
import { endMarked } from "../sandboxes/find-processes.ts";
import { resolveFolder } from "../sandboxes/resolve-folder.ts";
import { buildCommand } from "../sandboxes/sandbox-command.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import type { GroupReaper } from "../task-hosts/group-reaper.ts";
import type { OutputOffsets, OutputRead, ProcessSpec, ProcessState, SupervisorControl } from "./calls.ts";
import { contain } from "./containment.ts";
import { launchExec } from "./launch.ts";
import { launchPty } from "./launch-pty.ts";
import { SupervisedProcess, type Launch } from "./supervised-process.ts";

/** The processes of one workspace, from their start until they are forgotten. */
export class Supervision {
  readonly #sandbox: Sandbox;
  readonly #clock: Clock;
  readonly #reaper: GroupReaper;
  readonly #processes = new Map<string, { process: SupervisedProcess; started: Promise<void> }>();
  #stopping: Promise<void> | null = null;

  constructor(sandbox: Sandbox, clock: Clock, reaper: GroupReaper) {
    this.#sandbox = sandbox;
    this.#clock = clock;
    this.#reaper = reaper;
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
    const started = process.start(this.#launch(spec, process));
    this.#processes.set(spec.id, { process, started });
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
      const all = [...this.#processes.values()];
      await Promise.all(all.map(({ started }) => started));
      for (const { process } of all) process.end();
      await Promise.all(all.map(({ process }) => process.ended));
      const { materializationId, uid } = this.#sandbox;
      await endMarked({ materializationId, uid });
    })();
    return this.#stopping;
  }

  #find(id: string): { process: SupervisedProcess; started: Promise<void> } {
    const found = this.#processes.get(id);
    if (found === undefined) throw new Error(`There is no process ${id}.`);
    return found;
  }

  #launch(spec: ProcessSpec, process: SupervisedProcess): Launch {
    const { surroundings, materializationId } = this.#sandbox;
    return async () => {
      const folder = await resolveFolder(surroundings.root, spec.cwd);
      const command = buildCommand(this.#sandbox, spec, folder);
      const launched =
        spec.kind === "pty"
          ? launchPty(command, spec.cols ?? 80, spec.rows ?? 24)
          : await launchExec(command);
      this.#reaper.add(launched.pid);
      void process.ended.then(() => {
        this.#reaper.remove(launched.pid);
        command.dispose();
      });
      const contained = { materializationId, processId: spec.id, pid: launched.pid };
      return { launched, containment: contain(surroundings.isolation, contained) };
    };
  }
}
