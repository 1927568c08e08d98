import type { AnyTask, OutputOf } from "../task.ts";
import { followStream, type FollowOptions } from "./follow-stream.ts";
import type { PublicRun } from "./resources.ts";
import type { Transport } from "./transport.ts";
import { publicRunShape } from "./wire-shapes.ts";

/** A `PublicRun`: a run as a page sees it, with its status, attempt, output, failure, metadata, tags and times, without its payload. */
export type WatchedRun<T = unknown> = Omit<PublicRun, "output"> & {
  /** What the task has returned; null until it has succeeded. */
  output: OutputOf<T> | null;
};

/** Options of `watchRun()`. */
export type WatchOptions = Pick<FollowOptions, "signal" | "onConnect" | "onReconnect" | "maxReconnects">;

/** The run as it is, and again whenever it has changed, until it has ended. */
export async function* watchRunAt<T extends AnyTask>(
  transport: Transport,
  id: string,
  options: WatchOptions,
): AsyncGenerator<WatchedRun<T>> {
  const path = `/api/v1/runs/${encodeURIComponent(id)}?follow=1`;
  for await (const event of followStream(transport, path, options))
    if (event.event === "run") yield transport.read(publicRunShape, event.data) as WatchedRun<T>;
}
