import type {
  DurableCall,
  EventSeverity,
  ExecuteInput,
  ExecuteResult,
  ExecutionMode,
  FileCall,
  LogStream,
  MetadataChange,
  WaitState,
  WorkerEventKind,
} from "@keelson/contract";

/**
 * What the agent and a task host say to each other, over two pipes of their own (the host's descriptors 3 and 4).
 * A frame is a little-endian 32-bit length and a JSON list of messages; `n` numbers a run within its process.
 * This file is loaded by every host at its start, so it imports nothing at run time.
 */
export const TO_AGENT_FD = 3;
export const FROM_AGENT_FD = 4;
/** Of an exclusive host: each byte is a run that it may begin, see `run-tickets.ts`. */
export const TICKETS_FD = 5;

export type HostEntrypoint = { kind: "task" | "actor"; declared_id: string };

/** What of an execution is data. */
export type RunInput = Omit<ExecuteInput, "signal" | "host">;

/** What became of a durable call: the server's result, or why it did not take the call. */
export type CallAnswer = { result: unknown } | { refusal: { code: string; message: string } };

export type HostEvent = {
  kind: WorkerEventKind;
  severity?: EventSeverity;
  message: string;
  attributes?: Record<string, unknown>;
};

export type Thrown = { message: string; stack: string | null };

/** What a path is to be, as `dev:ino`. */
export type ExpectedFolder = { path: string; identity: string };

export type StopCause = "cancelled" | "timed_out" | "stopped";

/** What is said to a run that goes on. */
export type ToRun =
  /** Aborts its signal. */
  | ["stop", number, StopCause]
  /** Answers the run's durable call of that number. */
  | ["answer", number, number, CallAnswer]
  | ["settled", number, WaitState[]]
  /** The run is to end the message of that id. */
  | ["interrupt", number, string]
  /** Asks whether the run only waits: then it ends as suspended, else `awake` comes back. */
  | ["suspend", number];

export type ToHost =
  /** `folders` of a host in a sandbox, which says then that it is up, looks whether they are as expected, and how it exits. */
  | ["boot", { path: string; mode: ExecutionMode; folders: readonly ExpectedFolder[] | null; marker: string }]
  /** Begin it now: what waited behind another one was taken back. */
  | ["run", number, RunInput]
  /** Begin it behind those before it, with the ticket that was made for it. */
  | ["next", number, RunInput]
  | ToRun
  | ["ping"]
  | ["exit"];

export type FromHost =
  | ["ready", HostEntrypoint[]]
  | ["boot_failed", Thrown]
  /** It runs, in its sandbox if it has one; nothing of the bundle does yet. */
  | ["up"]
  /** Its sandbox is not as it should be. */
  | ["unfit", string]
  | ["exiting", number]
  /** Output of a run in a shared process. */
  | ["text", number, LogStream, string]
  | ["bytes", number, LogStream, string]
  | ["event", number, HostEvent]
  | ["metadata", number, MetadataChange[]]
  /** A durable call with its number, 1 for the run's first here. */
  | ["call", number, number, DurableCall]
  /** Asks how a command ended; numbered with the durable calls, and answered as they are. */
  | ["exec_result", number, number, string]
  /** Reads or changes files of the run's workspace; numbered and answered in the same way. */
  | ["file", number, number, FileCall]
  | ["awake", number]
  /** False when the process goes on to no other run; else the marker stands in both outputs behind what this one wrote. */
  | ["end", number, ExecuteResult, boolean]
  /** It will not begin these, whose tickets are gone: taken back by the agent, or by code of the process. */
  | ["dropped", number[]]
  /** An error that nothing caught: the run's failure, and the end of an exclusive process. */
  | ["uncaught", number, Thrown]
  | ["pong"];

const HEADER_BYTES = 4;
const MAX_FRAME_BYTES = 256 * 1024 * 1024;

/** Makes one frame of messages that are JSON already. */
export function encodeFrame(messages: string[]): Buffer {
  const text = `[${messages.join(",")}]`;
  const length = Buffer.byteLength(text);
  const frame = Buffer.allocUnsafe(HEADER_BYTES + length);
  frame.writeUInt32LE(length, 0);
  frame.write(text, HEADER_BYTES);
  return frame;
}

/** Takes bytes as they come and calls `receive` for each whole frame. */
export function createFrameReader<Message>(receive: (messages: Message[]) => void): (bytes: Buffer) => void {
  let held: Buffer[] = [];
  let heldBytes = 0;
  let wantedBytes = HEADER_BYTES;
  return (bytes) => {
    held.push(bytes);
    heldBytes += bytes.length;
    if (heldBytes < wantedBytes) return;
    let rest = held.length === 1 ? bytes : Buffer.concat(held);
    while (rest.length >= HEADER_BYTES) {
      const length = rest.readUInt32LE(0);
      if (length > MAX_FRAME_BYTES) throw new RangeError(`a frame of ${length} bytes is over the limit`);
      wantedBytes = HEADER_BYTES + length;
      if (rest.length < wantedBytes) break;
      receive(JSON.parse(rest.toString("utf8", HEADER_BYTES, wantedBytes)) as Message[]);
      rest = rest.subarray(wantedBytes);
      wantedBytes = HEADER_BYTES;
    }
    held = rest.length === 0 ? [] : [rest];
    heldBytes = rest.length;
  };
}
