import type { DurableCall, EffectResult, Message, MessageNews } from "@keelson/contract";
import { enter } from "./enter-journal.ts";
import type { Harness } from "./harness.ts";
import type { KeptRun } from "./kept-run.ts";
import { Refusal } from "./refusal.ts";
import { endOfLeft, type KeptMessage, type KeptStream, type SessionStore } from "./test-session.ts";

type Outputs = Extract<DurableCall, { kind: "outputs" }>;
type Said = NonNullable<Outputs["message"]>;

/** What pieces of a message answer that nobody takes any more. */
const ENDED: EffectResult = { value: { ended: true }, error: null };

type Writing = { harness: Harness; run: KeptRun; session: SessionStore; stream: KeptStream };

/** Appends to an output stream of the run's session. Inside a step it has no position: the step stands for it. */
export function performOutput(harness: Harness, run: KeptRun, call: Outputs): EffectResult {
  const { session } = run;
  if (session === null)
    throw new Refusal("invalid_state", "The run belongs to no session, so it has no output.");
  const { message, position, place, stream: name } = call;
  const placed = position === null ? null : { position, ...(place !== undefined && { place }) };
  const stream = session.stream(name, "output");
  const writing = { harness, run, session, stream };
  const answer = (value: unknown): EffectResult =>
    placed === null ? { value: null, error: null } : enter(run, placed, "output", name, value);
  if (message === undefined) {
    session.append(stream, call.records, { kind: "run", id: run.id }, run);
    return answer(null);
  }
  if (!isTaken(writing, message, position)) {
    return placed === null ? ENDED : answer({ status: "interrupted" });
  }
  write(writing, message, call.records);
  if (message.spans === true) return answer({ message_id: message.id });
  return answer(message.ends === undefined ? null : { status: message.ends });
}

const openOf = ({ session, run }: Writing): KeptMessage[] =>
  session.messages.filter((one) => one.run === run && one.wire.status === "open");

const findOpen = (writing: Writing, id: string): KeptMessage | undefined =>
  openOf(writing).find(({ wire }) => wire.id === id);

/** Whether anything of the message is taken: not of one that was interrupted and ended in the place of its code. */
function isTaken(writing: Writing, message: Said, position: number | null): boolean {
  const { session, run, stream } = writing;
  const { id, begins = false, ends, part, voids, call } = message;
  const open = findOpen(writing, id);
  const isOfParts = part !== undefined || voids !== undefined || (ends !== undefined && position !== null);
  if (isOfParts && open === undefined) return false;
  if (!begins && open === undefined && stream.isFenced) return false;
  const wasInterrupted = session.messages.some(
    (one) =>
      one.run === run &&
      one.wire.attempt_number < run.attempt &&
      one.call !== null &&
      one.call === call &&
      one.wire.interrupt_requested_at !== null,
  );
  if (begins && wasInterrupted) {
    endLeftOnes(writing);
    stream.isFenced = true;
    return false;
  }
  if (begins && open !== undefined) throw new Refusal("invalid_state", "The message has begun already.");
  if (ends !== undefined && !begins && open === undefined)
    throw new Refusal("invalid_state", "The message has not begun, or has ended.");
  return true;
}

/** What an earlier attempt has left open, and nobody goes on with. */
function endLeftOnes(writing: Writing): void {
  for (const message of openOf(writing))
    if (message.wire.attempt_number < writing.run.attempt && !message.spans)
      writing.session.endMessage(message, endOfLeft(message));
}

function write(writing: Writing, said: Said, records: Outputs["records"]): void {
  const { session, run, stream } = writing;
  const { id, begins = false, ends, part, voids, spans } = said;
  if (begins) {
    endLeftOnes(writing);
    session.messages.push(newMessage(writing, said, records));
  }
  const message = findOpen(writing, id);
  if (message !== undefined && part !== undefined)
    message.parts.push({ call: part, first: stream.records.length + 1, isVoid: false });
  if (message !== undefined && spans === true) session.tellOf(message, { event: "started", message_id: id });
  if (message !== undefined && voids !== undefined) voidParts(writing, message, voids);
  if (records.length > 0)
    session.append(stream, records, { kind: "run", id: run.id }, run, { messageId: id });
  if (message !== undefined && ends !== undefined) session.endMessage(message, ends, said.data);
}

function newMessage(
  { harness, run, session, stream }: Writing,
  said: Said,
  records: Outputs["records"],
): KeptMessage {
  const wire: Message = {
    ...{ id: said.id, session_id: session.id, stream: stream.name, status: "open", run_id: run.id },
    attempt_number: run.attempt,
    correlation_id: said.correlation_id ?? records[0]?.correlation_id ?? null,
    ...{ first_sequence: stream.records.length + 1, last_sequence: null, data: null },
    ...{ interrupt_requested_at: null, created_at: harness.clock.timestamp(), ended_at: null },
  };
  return { wire, run, call: said.call ?? null, spans: said.spans === true, parts: [] };
}

/** Another try of a step is about to write: what tries before it wrote counts no more. */
function voidParts({ session }: Writing, message: KeptMessage, step: string): void {
  const { parts, wire } = message;
  for (const [index, part] of parts.entries()) {
    if (part.isVoid || !part.call.startsWith(`${step}:`)) continue;
    part.isVoid = true;
    const next = parts[index + 1];
    const news: MessageNews = {
      ...{ event: "voided", message_id: wire.id, from_sequence: part.first },
      to_sequence: next === undefined ? null : next.first - 1,
    };
    session.tellOf(message, news);
  }
}
