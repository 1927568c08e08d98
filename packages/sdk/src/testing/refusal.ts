import { UsageError } from "../keelson-error.ts";

/** A server would not take a call: the run cannot go on. */
export class Refusal extends UsageError {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}
