import type { Sandbox } from "../sandboxes/sandbox.ts";
import { parkLauncher, type ParkedLauncher } from "./parked-launcher.ts";

/** Until another one is parked: what was just started has the machine to itself. */
const PARK_AFTER_MS = 20;

/**
 * Keeps one launcher parked for the next exec of a workspace, which then begins without what a sandbox takes to be set up.
 * When there is none, an exec is started as ever.
 */
export class Parking {
  readonly #sandbox: Sandbox;
  #timer: NodeJS.Timeout | undefined;
  #parked: ParkedLauncher | null = null;
  #isOpen = false;

  constructor(sandbox: Sandbox) {
    this.#sandbox = sandbox;
  }

  /** From now on one is parked. */
  open(): void {
    this.#isOpen = true;
    this.#parkSoon();
  }

  has(): boolean {
    return this.#parked?.isAlive() === true;
  }

  take(): ParkedLauncher | null {
    const parked = this.has() ? this.#parked : null;
    this.#parked = null;
    this.#parkSoon();
    return parked;
  }

  /** Ends what is parked, if no word was said to it. */
  close(): void {
    this.#isOpen = false;
    clearTimeout(this.#timer);
    this.#parked?.launched.gate?.close();
    this.#parked = null;
  }

  #parkSoon(): void {
    clearTimeout(this.#timer);
    if (this.#isOpen) this.#timer = setTimeout(() => void this.#park(), PARK_AFTER_MS).unref();
  }

  async #park(): Promise<void> {
    // What is wrong with it the next exec meets as well, and its caller is told.
    const parked = await parkLauncher(this.#sandbox).catch(() => null);
    if (parked === null) return;
    // An exec that it has become is done with when nothing of it is left.
    void parked.launched.exited.then(() => {
      if (!parked.isTold()) parked.dispose();
    });
    if (!this.#isOpen || this.#parked !== null) parked.launched.gate?.close();
    else this.#parked = parked;
  }
}
