import type { DurableCall, StreamRecord, WaitsResult, WaitState } from "@keelson/contract";
import { parseDuration } from "@keelson/contract/plain";
import type { Harness } from "./harness.ts";
import { newId } from "./new-id.ts";
import { Refusal } from "./refusal.ts";
import type { KeptStream } from "./test-session.ts";
import type { KeptRun } from "./kept-run.ts";

type WaitsCall = Extract<DurableCall, { kind: "waits" }>;
type NewWait = WaitsCall["waits"][number];

/** A wait of a run. */
export type KeptWait = {
  state: WaitState;
  tokenId: string | null;
  childId: string | null;
  messageId: string | null;
  stream: KeptStream | null;
  /** The record of the stream that it is for. */
  sequence: number;
  /** The journal has that the code saw its outcome. */
  isAccepted: boolean;
  forgetTimeout(): void;
};

/** Ten years, as the server. */
const MAX_MS = 3_650 * 24 * 3_600_000;

/** The waits of one run. */
export class TestWaits {
  readonly #harness: Harness;
  readonly #run: KeptRun;
  readonly #all: KeptWait[] = [];

  constructor(harness: Harness, run: KeptRun) {
    this.#harness = harness;
    this.#run = run;
  }

  /** Those that the journal does not have. */
  get open(): KeptWait[] {
    return this.#all.filter(({ isAccepted }) => !isAccepted);
  }

  get pending(): KeptWait[] {
    return this.#all.filter(({ state }) => state.status === "pending");
  }

  /** Settled ones that the journal does not have. */
  get news(): WaitState[] {
    return this.open.map(({ state }) => state).filter(({ status }) => status !== "pending");
  }

  /** New waits, those that are given up, and whether the code now only waits. */
  perform({ waits, cancels = [], parked }: WaitsCall): WaitsResult {
    // Of waits that were refused together, each comes again alone.
    const isThere = (position: number): boolean => this.#all.some(({ state }) => state.position === position);
    for (const asked of waits) if (!isThere(asked.position)) this.#all.push(this.#make(asked));
    for (const wait of this.pending)
      if (cancels.includes(wait.state.position)) this.#settle(wait, "cancelled", null);
    const { news } = this;
    this.#run.isParked = parked && news.length === 0;
    return { parked: this.#run.isParked, waits: structuredClone(news) };
  }

  /** The journal gets that the code saw the outcome. */
  accept(position: number): WaitState {
    const wait = this.open.find(({ state }) => state.position === position && state.status !== "pending");
    if (wait === undefined)
      throw new Refusal(
        "invalid_state",
        `The wait at position ${position} has not settled, or is accepted already.`,
      );
    wait.isAccepted = true;
    return wait.state;
  }

  /** @returns whether there were any */
  resolve(chosen: (wait: KeptWait) => boolean, value: unknown): boolean {
    const settled = this.pending.filter(chosen);
    for (const wait of settled) this.#settle(wait, "resolved", value);
    if (settled.length > 0) this.#run.resume();
    return settled.length > 0;
  }

  /** Input has come, or none comes any more. @returns the records that were received */
  receive(stream: KeptStream, isEnded: boolean): number[] {
    const received: number[] = [];
    const isSettled = (wait: KeptWait): boolean =>
      wait.stream === stream &&
      wait.messageId === null &&
      (isEnded || stream.recordAt(wait.sequence) !== null);
    for (const wait of this.pending.filter(isSettled)) {
      const record = stream.recordAt(wait.sequence);
      this.#settle(wait, "resolved", record);
      if (record === null) continue;
      received.push(record.sequence);
      stream.received = Math.max(stream.received, record.sequence);
    }
    if (this.news.length > 0) this.#run.resume();
    return received;
  }

  /** The run goes on without them. What its code has not received it receives later. */
  drop(): void {
    for (const { stream, sequence, state } of this.open)
      if (stream !== null && state.kind === "input" && state.status === "resolved" && state.value !== null)
        stream.received = Math.min(stream.received, sequence - 1);
    this.end();
    this.#all.length = 0;
  }

  /** The run has ended. */
  end(): void {
    for (const wait of this.pending) this.#settle(wait, "cancelled", null);
  }

  #settle(wait: KeptWait, status: "resolved" | "timed_out" | "cancelled", value: unknown): void {
    wait.forgetTimeout();
    wait.state = { ...wait.state, status, value };
    if (status !== "resolved" && wait.state.kind === "input") this.#passOn(wait);
  }

  /** The record that a wait was for is for the one after it, and so on. */
  #passOn({ stream, sequence }: KeptWait): void {
    const later = this.pending
      .filter((other) => other.stream === stream && other.sequence > sequence)
      .toSorted((a, b) => a.sequence - b.sequence);
    let free = sequence;
    for (const wait of later) [wait.sequence, free] = [free, wait.sequence];
  }

  #make(asked: NewWait): KeptWait {
    const { position, place = null, kind, name } = asked;
    const { clock } = this.#harness;
    const timeoutAt = timeoutOf(asked, clock.now);
    const wait: KeptWait = {
      state: {
        ...{ id: newId("wait"), position, place, kind, name, status: "pending", value: null },
        timeout_at: timeoutAt === null ? null : new Date(timeoutAt).toISOString(),
      },
      ...{ tokenId: null, childId: null, messageId: null, stream: null, sequence: 0, isAccepted: false },
      forgetTimeout: () => undefined,
    };
    const found = this.#find(wait, asked, timeoutAt);
    if (found !== undefined) this.#settle(wait, "resolved", found);
    else if (timeoutAt !== null) wait.forgetTimeout = clock.at(timeoutAt, () => this.#overdue(wait));
    return wait;
  }

  /** What has come already; undefined when it has not. */
  #find(wait: KeptWait, asked: NewWait, timeoutAt: number | null): unknown {
    const { clock, tokens } = this.#harness;
    switch (asked.kind) {
      case "timer":
        if (timeoutAt === null)
          throw new Refusal("invalid_request", "timeout: required, or timeout_at, for a timer.");
        return timeoutAt <= clock.now ? null : undefined;
      case "token": {
        const token = tokens.find(asked.token_id);
        if (token === undefined)
          throw new Refusal("not_found", "The token does not exist in this environment.");
        wait.tokenId = token.id;
        return token.status === "pending" ? undefined : { status: token.status, data: token.data };
      }
      case "run": {
        const child = this.#harness.runs.find(({ id }) => id === asked.run_id);
        if (child === undefined || child === this.#run)
          throw new Refusal("not_found", "The run does not exist in this environment.");
        wait.childId = child.id;
        return child.ending === null ? undefined : child.ending;
      }
      case "input":
        return this.#findInput(wait, asked);
      case "message": {
        const message = this.#run.session?.messages.find(({ wire }) => wire.id === asked.message_id);
        wait.messageId = asked.message_id ?? null;
        const isInterrupted = message !== undefined && message.wire.interrupt_requested_at !== null;
        return message?.wire.status === "open" && !isInterrupted ? undefined : { interrupted: isInterrupted };
      }
    }
  }

  /** Waits for the first record that was not received, nor is waited for by another wait of the run. */
  #findInput(wait: KeptWait, { stream: name = "" }: NewWait): StreamRecord | null | undefined {
    const { session } = this.#run;
    if (session === null)
      throw new Refusal("invalid_state", "The run belongs to no session, so it receives no input.");
    const stream = session.stream(name, "input");
    const isTaken = ({ state }: KeptWait): boolean =>
      state.status !== "timed_out" && state.status !== "cancelled";
    const taken = this.open.filter((other) => other.stream === stream && isTaken(other));
    wait.stream = stream;
    wait.sequence = Math.max(stream.received, ...taken.map(({ sequence }) => sequence)) + 1;
    const record = stream.recordAt(wait.sequence);
    if (record === null) return session.status === "open" ? undefined : null;
    stream.received = Math.max(stream.received, record.sequence);
    return record;
  }

  #overdue(wait: KeptWait): void {
    this.#settle(wait, wait.state.kind === "timer" ? "resolved" : "timed_out", null);
    this.#run.resume();
  }
}

function timeoutOf({ timeout, timeout_at: timeoutAt }: NewWait, now: number): number | null {
  if (timeout === undefined && timeoutAt === undefined) return null;
  const at =
    timeoutAt === undefined ? now + (parseDuration(timeout ?? "") ?? Infinity) : Date.parse(timeoutAt);
  if (Number.isNaN(at) || at - now > MAX_MS)
    throw new Refusal("invalid_request", "timeout, timeout_at: give one of them, at most ten years ahead.");
  return at;
}
