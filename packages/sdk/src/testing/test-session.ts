import type {
  InputDisposition,
  Message,
  SessionStatus,
  StreamDirection,
  StreamRecord,
  WhileBusy,
} from "@keelson/contract";
import { MESSAGE_CONTENT_TYPE } from "@keelson/contract/plain";
import { UsageError } from "../keelson-error.ts";
import type { Harness } from "./harness.ts";
import type { KeptRun } from "./kept-run.ts";
import type { KeptFile } from "./session-files.ts";
import { newId } from "./new-id.ts";
import { Refusal } from "./refusal.ts";

/** What one try of a step wrote to a message that spans. */
export type MessagePart = { call: string; first: number; isVoid: boolean };

/** A message of a session, and what a server knows of it besides. */
export type KeptMessage = {
  wire: Message;
  run: KeptRun;
  call: string | null;
  spans: boolean;
  parts: MessagePart[];
};

export type KeptStream = {
  name: string;
  direction: StreamDirection;
  records: StreamRecord[];
  /** How far runs have received it. */
  received: number;
  /** What comes after it, and is not received, starts the next turn. */
  turnSequence: number;
  /** Pieces are taken only for messages that are open. */
  isFenced: boolean;
  recordAt(sequence: number): StreamRecord | null;
};

export type NewRecord = { data: unknown; content_type?: string; correlation_id?: string };
type Source = StreamRecord["source"];
/** Who sends input, and what it does while a turn is live: by default what the actor declares. */
type Sending = { source: Source; run: KeptRun | null; whileBusy?: WhileBusy | undefined };

export type SessionOptions = {
  externalId: string | null;
  metadata: Record<string, unknown>;
  tags: readonly string[];
  /** Undefined: it was never set. */
  state: unknown;
  endsOnFailure: boolean;
  /** As the actor declares it. */
  whileBusy: WhileBusy;
};

function newStream(name: string, direction: StreamDirection): KeptStream {
  const records: StreamRecord[] = [];
  return {
    ...{ name, direction, records, received: 0, turnSequence: 0, isFenced: false },
    recordAt: (sequence) => records[sequence - 1] ?? null,
  };
}

/** One session, as a server keeps it. */
export class SessionStore {
  readonly id = newId("sess");
  readonly externalId: string | null;
  readonly metadata: Record<string, unknown>;
  readonly tags: readonly string[];
  status: SessionStatus = "open";
  state: { state: unknown; version: number };
  readonly streams = new Map<string, KeptStream>();
  readonly messages: KeptMessage[] = [];
  readonly files: KeptFile[] = [];
  readonly turns: KeptRun[] = [];
  /** Told of each record, and of each turn that ends. */
  readonly listeners = new Set<() => void>();
  readonly #harness: Harness;
  readonly #endsOnFailure: boolean;
  readonly #whileBusy: WhileBusy;
  readonly #startTurn: (turn: number) => KeptRun;

  constructor(harness: Harness, options: SessionOptions, startTurn: (turn: number) => KeptRun) {
    this.#harness = harness;
    this.externalId = options.externalId;
    this.metadata = options.metadata;
    this.tags = options.tags;
    this.state =
      options.state === undefined ? { state: null, version: 0 } : { state: options.state, version: 1 };
    this.#endsOnFailure = options.endsOnFailure;
    this.#whileBusy = options.whileBusy;
    this.#startTurn = startTurn;
  }

  get current(): KeptRun | null {
    return this.turns.at(-1) ?? null;
  }

  /** It takes no more input, and its last turn has ended. */
  get isOver(): boolean {
    return this.status !== "open" && this.current?.ending !== null;
  }

  /** A stream, made when it is first used. Throws a `Refusal` when it has the other direction. */
  stream(name: string, direction: StreamDirection): KeptStream {
    const known = this.streams.get(name);
    if (known !== undefined && known.direction !== direction)
      throw new Refusal(
        "stream_direction_mismatch",
        `Stream "${name}" is an ${known.direction} stream, for life. Use another name.`,
      );
    const stream = known ?? newStream(name, direction);
    this.streams.set(name, stream);
    return stream;
  }

  append(
    stream: KeptStream,
    records: readonly NewRecord[],
    source: Source,
    run: KeptRun | null,
    { messageId = null, steer = false }: { messageId?: string | null; steer?: boolean } = {},
  ): StreamRecord[] {
    const appended = records.map(
      ({ data, content_type = null, correlation_id = null }, index): StreamRecord => ({
        ...{ id: newId("rec"), session_id: this.id, stream: stream.name },
        ...{ sequence: stream.records.length + index + 1, data, content_type, correlation_id },
        ...{ message_id: messageId, source, run_id: run?.id ?? null, attempt_number: run?.attempt ?? null },
        created_at: this.#harness.clock.timestamp(),
        ...(steer && { steer }),
      }),
    );
    stream.records.push(...appended);
    this.#tell();
    return appended;
  }

  /** Why input is refused; null when it is not. */
  busyReason(name: string, whileBusy = this.#whileBusy): string | null {
    const { current } = this;
    if (whileBusy !== "reject" || current === null || current.ending !== null) return null;
    const stream = this.stream(name, "input");
    const isAwaited = current.waits.pending.some(
      (wait) => wait.stream === stream && wait.sequence > stream.records.length,
    );
    return isAwaited
      ? null
      : `Turn ${this.turns.length} of the session is live, and no run waits for input on this stream. The input was not appended: send it when the turn has ended, or with while_busy enqueue.`;
  }

  /** Appends input, which starts the next turn when none is live. Throws a UsageError when it takes none. */
  send(
    name: string,
    records: readonly NewRecord[],
    { source, run, whileBusy = this.#whileBusy }: Sending,
  ): { record: StreamRecord; disposition: InputDisposition } {
    if (this.status !== "open")
      throw new UsageError(
        `The session has ended as ${this.status} and takes no more records. Open another session.`,
      );
    const busy = this.busyReason(name, whileBusy);
    if (busy !== null) throw new Refusal("session_busy", busy);
    const stream = this.stream(name, "input");
    const isIdle = this.current?.ending !== null;
    const steer = whileBusy === "steer" && !isIdle;
    const appended = this.append(stream, records, source, run, { steer });
    const record = appended[0] as StreamRecord;
    if (isIdle) {
      this.beginTurn();
      return { record, disposition: "started" };
    }
    const received = this.current.waits.receive(stream, false);
    if (whileBusy === "interrupt") this.#interruptAll();
    if (received.includes(record.sequence)) return { record, disposition: "delivered" };
    return { record, disposition: steer ? "steered" : "queued" };
  }

  /** Asks for the end of all that the turn is writing. */
  #interruptAll(): void {
    for (const { run, wire } of this.messages)
      if (run === this.current && wire.status === "open") this.interrupt(wire.id);
  }

  /** Starts the next turn. What its streams hold is of this turn. */
  beginTurn(): void {
    for (const stream of this.streams.values()) stream.turnSequence = stream.records.length;
    this.turns.push(this.#startTurn(this.turns.length + 1));
  }

  /** Ends its input: a run that waits for some is told so. */
  end(status: Exclude<SessionStatus, "open">): void {
    if (this.status !== "open") return;
    this.status = status;
    for (const stream of this.streams.values())
      if (stream.direction === "input") this.current?.waits.receive(stream, true);
    if (status === "cancelled") this.current?.cancel();
    this.#tell();
  }

  /** A turn of it has ended. */
  turnEnded(run: KeptRun): void {
    const isCancelled = run.ending?.status === "cancelled";
    for (const message of this.messages.filter((one) => one.run === run && one.wire.status === "open"))
      this.endMessage(message, isCancelled ? "interrupted" : endOfLeft(message));
    if (run === this.current && this.status === "open") {
      if (run.ending?.status === "failed" && this.#endsOnFailure) this.end("failed");
      else if ([...this.streams.values()].some(hasInputLeft)) this.beginTurn();
    }
    this.#tell();
  }

  /** Ends a message, and tells the readers of its stream. `data` is kept of it in the place of its pieces. */
  endMessage(message: KeptMessage, status: Exclude<Message["status"], "open">, data?: unknown): void {
    const { wire } = message;
    const stream = this.stream(wire.stream, "output");
    wire.status = status;
    wire.last_sequence = stream.records.length;
    wire.data = data === undefined ? joinPieces(message, stream) : data;
    wire.ended_at = this.#harness.clock.timestamp();
    this.tellOf(message, { event: "ended", message_id: wire.id, status });
    message.run.waits.resolve(({ messageId }) => messageId === wire.id, {
      interrupted: wire.interrupt_requested_at !== null,
    });
  }

  /** What tells readers something of a message, and is no piece of it. */
  tellOf({ wire, run }: KeptMessage, data: Record<string, unknown>): void {
    const record = {
      ...{ data, content_type: MESSAGE_CONTENT_TYPE },
      ...(wire.correlation_id !== null && { correlation_id: wire.correlation_id }),
    };
    const source = { kind: "run", id: run.id } as const;
    this.append(this.stream(wire.stream, "output"), [record], source, run, { messageId: wire.id });
  }

  /** Asks for the end of a message. Throws a UsageError when it has none of this id. */
  interrupt(messageId: string): "interrupting" | "ended" {
    const message = this.messages.find(({ wire }) => wire.id === messageId);
    if (message === undefined)
      throw new UsageError(`The session has no message ${JSON.stringify(messageId)}: see messages().`);
    const { wire, run, spans } = message;
    if (wire.status !== "open") return "ended";
    wire.interrupt_requested_at ??= this.#harness.clock.timestamp();
    if (spans) {
      run.waits.resolve((wait) => wait.messageId === messageId, { interrupted: true });
      return "interrupting";
    }
    if (run.isExecuting && run.attempt === wire.attempt_number) {
      run.interrupt(messageId);
      return "interrupting";
    }
    this.endMessage(message, "interrupted");
    this.stream(wire.stream, "output").isFenced = true;
    return "ended";
  }

  #tell(): void {
    for (const listener of [...this.listeners]) listener();
  }
}

/** How a message ends that nobody goes on with. */
export const endOfLeft = ({ wire }: KeptMessage): "interrupted" | "failed" =>
  wire.interrupt_requested_at === null ? "failed" : "interrupted";

/** Whether input came during the turn that nobody has received. */
const hasInputLeft = ({ direction, turnSequence, received, records }: KeptStream): boolean =>
  direction === "input" && Math.max(turnSequence, received) < records.length;

/** More than this is not kept of a message, as its records have it. */
const MAX_BYTES = 512 * 1024;

/** Its pieces that count, as one text or as a list. */
function joinPieces({ wire, parts }: KeptMessage, { records }: KeptStream): unknown {
  const isVoid = (sequence: number): boolean =>
    parts.findLast(({ first }) => first <= sequence)?.isVoid ?? false;
  const pieces = records
    .filter((one) => one.message_id === wire.id && one.content_type !== MESSAGE_CONTENT_TYPE)
    .filter(({ sequence }) => !isVoid(sequence))
    .map(({ data }) => data);
  if (pieces.length === 0) return null;
  const bytes = pieces.reduce<number>(
    (sum, piece) => sum + new TextEncoder().encode(JSON.stringify(piece)).length,
    0,
  );
  if (bytes > MAX_BYTES) return null;
  return pieces.every((piece) => typeof piece === "string") ? pieces.join("") : pieces;
}
