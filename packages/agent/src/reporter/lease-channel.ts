import type {
  DurableCall,
  EventSeverity,
  Execution,
  LogStream,
  MetadataChange,
  OperationKind,
  WorkerEventKind,
} from "@keelson/contract";
import type { Release } from "../executions/decide-release.ts";
import type { AttemptOutcome } from "../metrics/agent-counts.ts";
import type { CallAnswer } from "../host/frames.ts";

/** One operation, already in its wire form: a repeat sends the same bytes. */
export type QueuedOperation = {
  channel: LeaseChannel;
  kind: OperationKind;
  sequence: number;
  at: string;
  /** The members of its own, each with a comma before it. */
  rest: string;
  text: string;
  bytes: number;
  logBytes: number;
  /** Of a durable call: takes what the server made of it. A refusal is the run's to deal with. */
  answer: ((answer: CallAnswer) => void) | null;
  /** Its number was given again, because the server refused an operation before it. */
  withdrawn: boolean;
  urgency: Urgency;
  /** In the reporter's milliseconds: when it leaves alone, at the latest. */
  dueAt: number;
};

export type LogChunk = { stream: LogStream; bytes: Buffer; at: string };
export type RunEvent = {
  kind: WorkerEventKind;
  severity?: EventSeverity;
  message: string;
  attributes?: Record<string, unknown>;
  at: string;
};

export type ChannelListener = {
  /** Fewer bytes of logs wait to be sent. */
  onLogsSent(): void;
  /** The lease is no longer this worker's. */
  onLost(): void;
  /** The run's workspace is no longer this worker's, and maybe its lease. The command that was refused has no effect. */
  onWorkspaceLost(): void;
  /** The server refused an operation for a reason of its own; everything later of this lease was withdrawn. */
  onRefused(kind: OperationKind, reason: string): void;
  /** The release was applied, or can no longer be. */
  onClosed(): void;
};

/** How soon an operation must leave: `start` may wait a moment for company, everything else leaves at once. */
export type Urgency = "now" | "soon";

/**
 * The operations of one lease: numbered from 1 without gaps, in the order they were made. A channel ends with its
 * release; after `drop` nothing of it is sent any more.
 */
export class LeaseChannel {
  readonly leaseId: string;
  readonly listener: ChannelListener;
  /** The lease as every call of the protocol names it: members of a JSON object, without braces. */
  readonly leaseText: string;
  dropped = false;
  released = false;
  #outcome: Release["outcome"] | null = null;
  unsentLogBytes = 0;
  #sequence = 0;
  readonly #enqueue: (operation: QueuedOperation) => void;

  constructor(
    execution: Execution,
    enqueue: (operation: QueuedOperation) => void,
    listener: ChannelListener,
  ) {
    this.leaseId = execution.lease_id;
    this.listener = listener;
    this.#enqueue = enqueue;
    this.leaseText =
      `"run_id":"${execution.run.id}","environment_id":"${execution.run.environment_id}",` +
      `"lease_id":"${execution.lease_id}","epoch":${execution.epoch}`;
  }

  start(at: string): void {
    this.#push("start", at, "", "soon", 0);
  }

  logs(chunks: LogChunk[]): void {
    let bytes = 0;
    const texts: string[] = [];
    for (const chunk of chunks) {
      bytes += chunk.bytes.length;
      texts.push(
        `{"stream":"${chunk.stream}","data":"${chunk.bytes.toString("base64")}","at":"${chunk.at}"}`,
      );
    }
    this.#push("logs", (chunks[0] as LogChunk).at, `,"chunks":[${texts.join(",")}]`, "now", bytes);
  }

  events(events: RunEvent[]): void {
    this.#push("events", (events[0] as RunEvent).at, `,"events":${JSON.stringify(events)}`, "now", 0);
  }

  metadata(changes: MetadataChange[], at: string): void {
    this.#push("metadata", at, `,"changes":${JSON.stringify(changes)}`, "now", 0);
  }

  /** Passes a durable call on; `answer` hears what became of it, unless the lease is over before. */
  call({ kind, ...fields }: DurableCall, at: string, answer: (answer: CallAnswer) => void): void {
    this.#push(kind, at, `,${JSON.stringify(fields).slice(1, -1)}`, "now", 0, answer);
  }

  /** Everything that a suspended run needs is with the server. */
  checkpointReady(at: string): void {
    this.#push("checkpoints/ready", at, "", "now", 0);
  }

  release(release: Release, at: string): void {
    const failure = release.failure === null ? "" : `,"failure":${JSON.stringify(release.failure)}`;
    const output = release.output === null ? "" : `,"output":${release.output}`;
    const payload = release.payload === undefined ? "" : `,"payload":${release.payload}`;
    this.#outcome = release.outcome;
    this.#push("release", at, `,"outcome":"${release.outcome}"${output}${failure}${payload}`, "now", 0);
    this.released = true;
  }

  /** An operation came after this one. */
  hasGoneOnAfter({ sequence }: QueuedOperation): boolean {
    return this.#sequence > sequence;
  }

  /** How the attempt ended, once the lease is over. */
  outcome(): AttemptOutcome {
    return this.dropped ? "lost" : (this.#outcome ?? "lost");
  }

  /** Gives the lease up: queued operations are forgotten, later ones are ignored. */
  drop(): void {
    if (this.dropped) return;
    this.dropped = true;
    this.unsentLogBytes = 0;
    this.listener.onClosed();
  }

  /** The server has applied it. */
  applied(operation: QueuedOperation, result: unknown): void {
    operation.answer?.({ result });
    if (operation.logBytes > 0) {
      this.unsentLogBytes -= operation.logBytes;
      this.listener.onLogsSent();
    }
    if (operation.kind === "release") this.listener.onClosed();
  }

  /** A refused operation has no effect, so that its number is the next one's; what was made after it is withdrawn. */
  rewindTo(sequence: number): void {
    this.#sequence = sequence - 1;
    this.released = false;
    this.unsentLogBytes = 0;
  }

  /** A durable call was refused and the run goes on: what was made after it moves up by one, in order. */
  moveUp(later: readonly QueuedOperation[]): QueuedOperation[] {
    this.#sequence -= 1;
    return later.map((operation) => {
      const { kind, at, rest } = operation;
      const sequence = operation.sequence - 1;
      return { ...operation, sequence, text: this.#encode(kind, sequence, at, rest), withdrawn: false };
    });
  }

  #encode(kind: OperationKind, sequence: number, at: string, rest: string): string {
    return `{"kind":"${kind}",${this.leaseText},"sequence":${sequence},"at":"${at}"${rest}}`;
  }

  #push(
    kind: OperationKind,
    at: string,
    rest: string,
    urgency: Urgency,
    logBytes: number,
    answer: QueuedOperation["answer"] = null,
  ): void {
    if (this.dropped || this.released) return;
    this.#sequence += 1;
    const sequence = this.#sequence;
    const text = this.#encode(kind, sequence, at, rest);
    this.unsentLogBytes += logBytes;
    // Base64 and ids are ASCII; only texts of users need their bytes counted.
    const bytes = kind === "logs" || kind === "start" ? text.length : Buffer.byteLength(text);
    this.#enqueue({
      ...{ channel: this, kind, sequence, at, rest, text, bytes, logBytes, answer, urgency },
      withdrawn: false,
      dueAt: 0,
    });
  }
}
