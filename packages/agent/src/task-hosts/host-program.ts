import { constants } from "node:os";
import { InfrastructureError, type HostDeath } from "../deaths/death.ts";
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
  #isUp: boolean;
  /** What it said that it exits with: it was not a signal then. */
  #exitingWith: number | null = null;
  #stopWatch: () => void = () => undefined;

  constructor({ isolation, memoryMb }: HostSpec, pid: number | undefined, onExcess: () => void) {
    this.#isIsolated = isolation === "namespace";
    this.#memoryMb = memoryMb;
    this.#onExcess = onExcess;
    this.#pid = pid;
    this.#isUp = !this.#isIsolated;
    if (this.#isUp) this.#watch();
  }

  /** It runs in its sandbox, and nothing of the bundle does yet. */
  up(): void {
    if (this.#isUp) return;
    this.#isUp = true;
    const byParent = new Map(listProcesses().map(({ ppid, pid }) => [ppid, pid]));
    // bubblewrap, its init inside, and the program as the only child of that.
    for (let child = this.#pid; child !== undefined; child = byParent.get(child)) this.#pid = child;
    this.#watch();
  }

  exiting(code: number): void {
    this.#exitingWith = code;
  }

  /** Undefined until it runs: a sandbox that is being set up is no program. */
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

  /** Why it never ran, when that is so. */
  setUpProblem({ killCause, stderrTail, spawnError }: HostDeath): InfrastructureError | null {
    if (this.#isUp || killCause !== null || spawnError !== null) return null;
    const words = stderrTail.trim() || "bubblewrap gave no reason";
    return new InfrastructureError(`The worker could not set up the task's sandbox: ${words}`);
  }

  #watch(): void {
    if (this.#memoryMb === null || this.#pid === undefined) return;
    this.#stopWatch = watchMemory(this.#pid, this.#memoryMb + RUNTIME_OVERHEAD_MB, this.#onExcess);
  }
}
