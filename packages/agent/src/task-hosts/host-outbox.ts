import type { Writable } from "node:stream";
import { encodeFrame, type ToHost } from "../host/frames.ts";

/** What is told to a host: everything posted in one turn is one frame. A host that is gone is told nothing. */
export class HostOutbox {
  readonly #pipe: Writable;
  #messages: string[] = [];

  constructor(pipe: Writable) {
    this.#pipe = pipe;
  }

  post(message: ToHost): void {
    if (this.#messages.length === 0) queueMicrotask(() => this.#send());
    this.#messages.push(JSON.stringify(message));
  }

  #send(): void {
    const frame = encodeFrame(this.#messages);
    this.#messages = [];
    if (this.#pipe.writable) this.#pipe.write(frame);
  }
}
