import { ApiError, type StreamEvent } from "@keelson/sdk/browser";
import { useEffect, useEffectEvent, useState } from "react";
import { follow as followRoute, type FollowRoute } from "./client.ts";
import { createLiveSource } from "./live-state.ts";
import { usePlace, type Place } from "./place.ts";

export type FollowState = "connecting" | "live" | "reconnecting" | "ended" | "failed";

export type Follow = {
  state: FollowState;
  /** What the server refused with, when it `failed`. */
  error: unknown;
};

type FollowHandlers = {
  /** In order, each once; all that came since the last frame of the screen. */
  onEvents: (events: StreamEvent[]) => void;
  /** The entries after the cursor were deleted; the stream goes on at `earliestCursor`. */
  onGap?: (earliestCursor: string | null) => void;
};

/**
 * Follows an event stream of the environment while the component is there, after `cursor` (absent: from its beginning),
 * and across restarts of the server: nothing is missing or doubled. `route` null follows nothing. A new path begins again.
 */
export function useFollow(
  route: FollowRoute | null,
  { cursor, ...handlers }: FollowHandlers & { cursor?: string | undefined },
): Follow {
  const place = usePlace();
  const [follow, setFollow] = useState<Follow>({ state: "connecting", error: null });
  const onEvents = useEffectEvent((events: StreamEvent[]) => handlers.onEvents(events));
  const onGap = useEffectEvent((earliest: string | null) => handlers.onGap?.(earliest));
  const firstCursor = useEffectEvent(() => cursor);
  const path = route?.path ?? null;
  const query = JSON.stringify(place);

  useEffect(() => {
    if (path === null) return undefined;
    const controller = new AbortController();
    const source = createLiveSource();
    const frames = batchByFrame((events) => onEvents(events));
    const become = (state: FollowState, error: unknown = null): void => {
      if (controller.signal.aborted) return;
      setFollow({ state, error });
      if (state === "ended" || state === "failed") source.forget();
      else source.set(state);
    };
    const after = firstCursor();
    const run = async (): Promise<void> => {
      become("connecting");
      const events = followRoute({ method: "GET", path }, JSON.parse(query) as Place, {
        ...(after !== undefined && { cursor: after }),
        signal: controller.signal,
        maxReconnects: Number.POSITIVE_INFINITY,
        onGap: (earliest) => onGap(earliest),
        onConnect: () => become("live"),
        onReconnect: () => become("reconnecting"),
      });
      for await (const event of events) frames.push(event);
      become("ended");
    };
    run().catch((error: unknown) => {
      if (!controller.signal.aborted) become("failed", error);
    });
    return () => {
      controller.abort(new DOMException("The page has left.", "AbortError"));
      frames.stop();
      source.forget();
    };
  }, [path, query]);

  return follow;
}

/** A flood of events changes the page once a frame. A hidden page has no frames, so there it is by time. */
function batchByFrame(flush: (events: StreamEvent[]) => void): {
  push: (event: StreamEvent) => void;
  stop: () => void;
} {
  let pending: StreamEvent[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  let frame: number | undefined;
  const flushNow = (): void => {
    clearTimeout(timer);
    if (frame !== undefined) cancelAnimationFrame(frame);
    timer = undefined;
    frame = undefined;
    const events = pending;
    pending = [];
    if (events.length > 0) flush(events);
  };
  return {
    push: (event) => {
      pending.push(event);
      if (timer !== undefined) return;
      timer = setTimeout(flushNow, 100);
      frame = requestAnimationFrame(flushNow);
    },
    stop: () => {
      clearTimeout(timer);
      if (frame !== undefined) cancelAnimationFrame(frame);
      pending = [];
    },
  };
}

/** Whether the server knows of nothing here: what was followed does not exist, or no longer does. */
export const isNotFound = (error: unknown): boolean => error instanceof ApiError && error.status === 404;
