import { STREAM_NAME_PATTERN, STREAM_NAME_WORDS, type StreamDirection } from "@keelson/contract";
import type { StreamKey } from "../../../core/streams/stream.ts";
import { invalidRequest } from "../../../domain-error.ts";

/** A stream as a route names it; whether it is there shows later. */
export type StreamTarget = StreamKey & { direction: StreamDirection };

const streamName = new RegExp(STREAM_NAME_PATTERN);

/** @throws DomainError `invalid_request` when no stream can have the name. */
export function checkStreamName(name: string): string {
  if (streamName.test(name)) return name;
  throw invalidRequest([{ path: "stream", message: STREAM_NAME_WORDS }]);
}
