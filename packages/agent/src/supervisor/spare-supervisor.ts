import { randomUUID } from "node:crypto";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Isolation } from "@keelson/contract";
import type { Logger } from "../log.ts";
import type { IsolationProbe } from "../sandboxes/probe-isolation.ts";
import { DEFAULT_LIMITS } from "../sandboxes/sandbox.ts";
import { bootSupervisor, wrapperOf, type BootedSupervisor } from "./boot-supervisor.ts";
import type { Rehearsal } from "./rehearse.ts";

/** The next is booted so long after one was taken: not while the workspace that took it begins. */
const REFILL_DELAY_MS = 1_000;

/**
 * One supervisor that is booted before somebody needs it, because that takes most of what it takes to make a workspace live.
 * It has run a program that does nothing, so that its code is warm. It has served nobody and knows nothing of any workspace, and whoever takes it is the only one it ever serves. It ends with
 * the agent.
 */
export class SpareSupervisor {
  readonly #folder: string;
  readonly #probe: Pick<IsolationProbe, "isolation" | "means">;
  readonly #logger: Logger;
  #spare: BootedSupervisor | null = null;
  #refill: NodeJS.Timeout | undefined;
  #isClosed = false;

  /** @param home of this agent alone. */
  constructor(home: string, probe: Pick<IsolationProbe, "isolation" | "means">, logger: Logger) {
    this.#probe = probe;
    this.#folder = join(home, "spare-supervisors");
    this.#logger = logger;
    // Those of an earlier process have ended with it.
    rmSync(this.#folder, { recursive: true, force: true });
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    this.#boot();
  }

  /** Null when there is none for this tier: the caller boots its own. */
  take(isolation: Isolation): BootedSupervisor | null {
    if (isolation !== this.#probe.isolation) return null;
    const spare = this.#spare;
    this.#spare = null;
    clearTimeout(this.#refill);
    if (!this.#isClosed) this.#refill = setTimeout(() => this.#boot(), REFILL_DELAY_MS).unref();
    return spare;
  }

  /** Ends the one that nobody took. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#refill);
    this.#spare?.child.stdin.end();
    this.#spare = null;
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #boot(): void {
    const { isolation, means } = this.#probe;
    try {
      const path = join(this.#folder, randomUUID());
      const booted = bootSupervisor(path, wrapperOf(isolation, means, DEFAULT_LIMITS.processes));
      const rehearsal: Rehearsal = { folder: `${path}-rehearsal`, isolation, means };
      booted.child.stdin.write(`${JSON.stringify(rehearsal)}\n`);
      this.#spare = booted;
      const drop = (): void => {
        // The next who needs one boots its own, and asks for another spare: what ends by itself is not booted over and over.
        if (this.#spare === booted) this.#spare = null;
      };
      booted.child.once("error", drop).once("exit", drop);
      // It keeps no agent from ending.
      booted.child.unref();
      for (const stream of [booted.child.stdin, booted.child.stdout])
        (stream as unknown as { unref(): void }).unref();
    } catch (err) {
      this.#logger.warn({ err }, "no supervisor could be booted in advance; workspaces take longer to begin");
    }
  }
}
