import { constants } from "node:os";
import { classifyHost, InfrastructureError, type HostDeath } from "../deaths/death.ts";
import { listProcesses } from "../sandboxes/find-processes.ts";
import type { HostSpec } from "./host-key.ts";
import { RUNTIME_OVERHEAD_MB, watchMemory } from "./watch-memory.ts";

type ExitStatus = Pick<HostDeath, "exitCode" | "signal">;

/**
 * The program of a host. In the namespace tier it is not the process that the agent started but one that this started, whose
 * end comes as a number.
 */
export class HostProgram {
  readonly #isIsolated: boolean;
  readonly #memoryMb: number | null;
  readonly #onExcess: () => void;
  #pid: number | undefined;
  #isUp = false;
  /** What it said that it exits with: it was not a signal then. */
  #exitingWith: number | null = null;
  #stopWatch: () => void = () => undefined;

  constructor({ isolation, memoryMb }: HostSpec, pid: number | undefined, onExcess: () => void) {
    this.#isIsolated = isolation === "namespace";
    this.#memoryMb = memoryMb;
    this.#onExcess = onExcess;
    this.#pid = pid;
    // In a sandbox the process is not known yet.
    if (!this.#isIsolated) this.#watch();
  }

  /** It runs, in its sandbox if it has one, and nothing of the bundle does yet. */
  up(): void {
    if (this.#isUp) return;
    this.#isUp = true;
    if (!this.#isIsolated) return;
    const byParent = new Map(listProcesses().map(({ ppid, pid }) => [ppid, pid]));
    // bubblewrap, its init inside, and the program as the only child of that.
    for (let child = this.#pid; child !== undefined; child = byParent.get(child)) this.#pid = child;
    this.#watch();
  }

  exiting(code: number): void {
    this.#exitingWith = code;
  }

  /** Undefined until it has said that it runs: time that goes by before is none in which a bundle could be imported. */
  get pid(): number | undefined {
    return this.#isUp ? this.#pid : undefined;
  }

  /** As it ended itself, from how what the agent started did. */
  ended({ exitCode, signal }: ExitStatus): ExitStatus {
    this.#stopWatch();
    if (!this.#isIsolated || exitCode === null || this.#exitingWith !== null) return { exitCode, signal };
    const name = Object.entries(constants.signals).find(([, number]) => number === exitCode - 128)?.[0];
    return name === undefined ? { exitCode, signal } : { exitCode: null, signal: name as NodeJS.Signals };
  }

  /** Why it never ran, when that is so: nothing of the bundle ran either. */
  setUpProblem(death: HostDeath): InfrastructureError | null {
    const { killCause, stderrTail, spawnError, signal, exitCode } = death;
    if (this.#isUp || killCause !== null || spawnError !== null) return null;
    // Too little memory was asked for even to start.
    if (classifyHost(death) === "heap_exhausted") return null;
    const words = stderrTail.trim();
    if (this.#isIsolated)
      return new InfrastructureError(
        `The worker could not set up the task's sandbox: ${words || "bubblewrap gave no reason"}`,
      );
    const how = signal === null ? `it exited with code ${exitCode}` : `it was ended by ${signal}`;
    return new InfrastructureError(`The worker could not start a process: ${words || how}`);
  }

  #watch(): void {
    if (this.#memoryMb === null || this.#pid === undefined) return;
    this.#stopWatch = watchMemory(this.#pid, this.#memoryMb + RUNTIME_OVERHEAD_MB, this.#onExcess);
  }
}
