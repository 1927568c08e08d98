import type { DurableCall, WaitsResult } from "@keelson/contract";
import type { CallAnswer } from "../host/frames.ts";

/** How soon a run that would not be suspended is asked again, if it is still parked then. */
const ASK_AGAIN_MS = 1_000;
/** What a timer can count. */
const MAX_TIMER_MS = 2_147_483_647;

export type ParkingOptions = {
  /** How long the run stays parked in memory. */
  parkAfterMs: number;
  onParked(): void;
  onUnparked(): void;
  /** Asks the run's process to suspend it. */
  ask(): void;
};

/**
 * Whether a run is parked: the server has given its slot away, because its code does nothing but wait. It is until its
 * process makes another call. After a while in memory the process is asked to end.
 */
export class Parking {
  readonly #options: ParkingOptions;
  #parked = false;
  #asked = false;
  #lastCall = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: ParkingOptions) {
    this.#options = options;
  }

  get parked(): boolean {
    return this.#parked;
  }

  /** The process makes a call; what is returned takes the answer. */
  called(call: DurableCall): (answer: CallAnswer) => void {
    this.#lastCall += 1;
    const number = this.#lastCall;
    if (call.kind !== "waits" || !call.parked) {
      this.leave();
      return () => undefined;
    }
    return (answer) => {
      const granted = "result" in answer && (answer.result as WaitsResult).parked;
      // Called again since: then it goes on.
      if (number !== this.#lastCall) return;
      if (granted) this.#enter();
      else this.leave();
    };
  }

  /** The process ends as soon as it can, whatever time is left. */
  suspend(): void {
    if (!this.#parked || this.#asked) return;
    clearTimeout(this.#timer);
    this.#asked = true;
    this.#options.ask();
  }

  /** The process has more to do than to wait. */
  refused(): void {
    this.#asked = false;
    if (this.#parked) this.#timer = setTimeout(() => this.suspend(), ASK_AGAIN_MS);
  }

  leave(): void {
    clearTimeout(this.#timer);
    if (!this.#parked) return;
    this.#parked = false;
    this.#options.onUnparked();
  }

  /** The run has ended: it is asked nothing more. */
  end(): void {
    clearTimeout(this.#timer);
  }

  #enter(): void {
    if (this.#parked) return;
    this.#parked = true;
    this.#asked = false;
    this.#timer = setTimeout(() => this.suspend(), Math.min(MAX_TIMER_MS, this.#options.parkAfterMs));
    this.#options.onParked();
  }
}
