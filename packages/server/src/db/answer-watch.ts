// Ends a connection whose answers stop.

import type pg from "pg";
import { SILENCE } from "./connection-error.ts";
import { sever } from "./open-session.ts";

/** A statement that was sent, how long its answer may take, in milliseconds, and what is told when it takes longer. */
export type Awaited = { answerMs: number; reject: (silence: Error) => void };

/**
 * What was sent on one connection and is not answered. PostgreSQL answers in order, so the time of a statement runs from the answer
 * to the one before: what that one has waited for, a lock perhaps, is no silence.
 */
export class AnswerWatch {
  readonly #client: pg.ClientBase;
  readonly #awaited: Awaited[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(client: pg.ClientBase) {
    this.#client = client;
  }

  sent(awaited: Awaited): void {
    if (this.#awaited.push(awaited) === 1) this.#wait(awaited);
  }

  /** Or refused by the driver, which may be out of order. */
  answered(awaited: Awaited): void {
    const isFirst = this.#awaited[0] === awaited;
    if (!isFirst) return void this.#awaited.splice(this.#awaited.indexOf(awaited), 1);
    this.#awaited.shift();
    clearTimeout(this.#timer);
    const [next] = this.#awaited;
    if (next !== undefined) this.#wait(next);
  }

  #wait({ answerMs, reject }: Awaited): void {
    this.#timer = setTimeout(() => {
      reject(new Error(SILENCE));
      sever(this.#client);
    }, answerMs);
  }
}

const watches = new WeakMap<pg.ClientBase, AnswerWatch>();

export function watchOf(client: pg.ClientBase): AnswerWatch {
  let watch = watches.get(client);
  if (watch === undefined) watches.set(client, (watch = new AnswerWatch(client)));
  return watch;
}
