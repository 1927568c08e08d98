import { LIMITS, STREAM_NAME_PATTERN, STREAM_NAME_WORDS, type StreamDirection } from "@keelson/contract";
import type { StreamKey } from "../../../core/streams/stream.ts";
import { invalidRequest } from "../../../domain-error.ts";

/** A stream as a route names it; whether it is there shows later. */
export type StreamTarget = StreamKey & { direction: StreamDirection };

/** The streams of one request, at least one. All are of one session and direction. */
export type StreamTargets = readonly [StreamTarget, ...StreamTarget[]];

const streamName = new RegExp(STREAM_NAME_PATTERN);

/** @throws DomainError `invalid_request` when no stream can have the name. */
export function checkStreamName(name: string): string {
  if (streamName.test(name)) return name;
  throw invalidRequest([{ path: "stream", message: STREAM_NAME_WORDS }]);
}

/** What the routes that read say of it. */
export const SEVERAL_STREAMS =
  `With \`follow=1\`, \`stream\` can be up to ${LIMITS.followedStreams} names with commas in between, which one connection follows. ` +
  "The id of each event is then the place in all of them, such as `output:12,notes:3`, and is the cursor to go on from.";

/**
 * The names of one stream, or of several that are followed over one connection, with commas in between.
 *
 * @throws DomainError `invalid_request`.
 */
export function checkStreamNames(text: string): readonly [string, ...string[]] {
  const names = text.split(",");
  if (names.length > LIMITS.followedStreams)
    throw invalidRequest([{ path: "stream", message: `name at most ${LIMITS.followedStreams} streams` }]);
  if (new Set(names).size < names.length)
    throw invalidRequest([{ path: "stream", message: "name each stream once" }]);
  return names.map(checkStreamName) as [string, ...string[]];
}
