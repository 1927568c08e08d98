import type { Socket } from "node:net";
import type { LogStream } from "@keelson/contract";
import { OutputTail } from "./output-tail.ts";
import { readAvailable } from "./read-available.ts";

const OUTPUTS = ["stdout", "stderr"] as const;

/** One of the two outputs of a host. */
type Output = {
  stream: Socket;
  /** Whose bytes come now. */
  run: number;
  /** That one has ended: what comes is the next one's, which may be given only later. */
  isOver: boolean;
  /** What may be the beginning of a marker. */
  held: Buffer;
};

export type HostOutputOptions = Record<LogStream, Socket> & {
  /** Stands behind what a run wrote. */
  marker: Buffer;
  /** @param run is not always one that runs */
  onOutput(run: number, stream: LogStream, bytes: Buffer): void;
  /** The run that the process goes on to after that one; 0 for none. */
  nextAfter(run: number): number;
  /** An output was closed. */
  onClosed(): void;
};

/** What an exclusive host writes, told apart by its runs. Of a shared one, what no run can be told of. */
export class HostOutput {
  readonly #options: HostOutputOptions;
  readonly #outputs: Record<LogStream, Output>;
  readonly #stderrTail = new OutputTail();
  #isPaused = false;

  constructor(options: HostOutputOptions) {
    this.#options = options;
    const of = (stream: Socket): Output => ({ stream, run: 0, isOver: false, held: Buffer.alloc(0) });
    this.#outputs = { stdout: of(options.stdout), stderr: of(options.stderr) };
    for (const name of OUTPUTS) {
      const { stream } = this.#outputs[name];
      stream.on("data", (bytes: Buffer) => this.#take(name, bytes));
      stream.on("end", options.onClosed);
      stream.on("error", () => undefined);
    }
  }

  /** From now on a process that had no run writes for that one. */
  begin(run: number): void {
    for (const name of OUTPUTS) {
      Object.assign(this.#outputs[name], { run, isOver: false, held: Buffer.alloc(0) });
      if (name === "stderr") this.#stderrTail.clear();
    }
  }

  /** That run has ended: what looked like the beginning of a marker was its own. */
  end(run: number): void {
    for (const name of OUTPUTS) {
      const output = this.#outputs[name];
      const { held } = output;
      if (held.length === 0 || this.#runOf(output) !== run) continue;
      output.held = Buffer.alloc(0);
      this.#give(name, held);
    }
  }

  /** The last of what it wrote to stderr, of its last run. */
  lastWords(): string {
    return this.#stderrTail.toString();
  }

  /** Stops or continues reading; a process that nobody reads is held up when its pipe is full. */
  setPaused(paused: boolean): void {
    this.#isPaused = paused;
    for (const { stream } of Object.values(this.#outputs)) {
      if (paused) stream.pause();
      else stream.resume();
    }
  }

  /**
   * Reads what the process wrote until now, and no further than the marker behind what that run wrote. False when it is held
   * up.
   */
  readUntil(run: number): boolean {
    return OUTPUTS.every((name) => {
      const output = this.#outputs[name];
      const isRead = (): boolean => output.isOver && output.run >= run;
      const isEnough = (): boolean => this.#isPaused || isRead();
      return readAvailable(output.stream, (bytes) => this.#take(name, bytes), isEnough) || isRead();
    });
  }

  destroy(): void {
    for (const { stream } of Object.values(this.#outputs)) stream.destroy();
  }

  #take(name: LogStream, bytes: Buffer): void {
    const output = this.#outputs[name];
    const { marker } = this.#options;
    let rest = output.held.length === 0 ? bytes : Buffer.concat([output.held, bytes]);
    output.held = Buffer.alloc(0);
    for (let at = rest.indexOf(marker); at >= 0; at = rest.indexOf(marker)) {
      this.#give(name, rest.subarray(0, at));
      rest = rest.subarray(at + marker.length);
      output.run = this.#runOf(output);
      output.isOver = true;
      if (name === "stderr") this.#stderrTail.clear();
    }
    const begun = beginningOf(marker, rest);
    this.#give(name, rest.subarray(0, rest.length - begun));
    output.held = rest.subarray(rest.length - begun);
  }

  #give(name: LogStream, bytes: Buffer): void {
    if (bytes.length === 0) return;
    if (name === "stderr") this.#stderrTail.push(bytes);
    this.#options.onOutput(this.#runOf(this.#outputs[name]), name, bytes);
  }

  #runOf({ run, isOver }: Output): number {
    return isOver ? this.#options.nextAfter(run) : run;
  }
}

/** How many of the last bytes may be the first of the marker, which has its first byte nowhere else. */
function beginningOf(marker: Buffer, bytes: Buffer): number {
  const at = bytes.lastIndexOf(marker[0] as number, -1);
  const count = bytes.length - at;
  return at >= 0 && count < marker.length && marker.subarray(0, count).equals(bytes.subarray(at)) ? count : 0;
}
