/** How fast a request's body has to come. Times are in monotonic milliseconds. */

const FIRST_BYTE_MS = 10_000;
/** The rate is averaged over windows of this length, one after the other. */
const WINDOW_MS = 10_000;
const BYTES_PER_SECOND = 1_024;
/** Uploads of bundles, blobs and files, which are long, have to be faster once they have had time to begin. */
const UPLOAD_AFTER_MS = 30_000;
const UPLOAD_BYTES_PER_SECOND = 16 * 1_024;

export type BodyProgress = {
  beganAt: number;
  /** When the present window began; null: nothing of the body has come. */
  windowAt: number | null;
  /** What the connection had received when it began. */
  windowBytes: number;
};

export type BodySample = {
  now: number;
  /** What the connection has received in all. */
  bytesRead: number;
  /** Some of the body has come. */
  hasData: boolean;
  /** The server does not read: what came before waits for its handler, and the sender with it. */
  isHeldBack: boolean;
  isUpload: boolean;
};

export const beginBody = (now: number): BodyProgress => ({ beganAt: now, windowAt: null, windowBytes: 0 });

/** Where a body is after another look at it; `late` when its sender is too slow. */
export function watchBody(progress: BodyProgress, sample: BodySample): BodyProgress | "late" {
  const { now, bytesRead, hasData, isHeldBack, isUpload } = sample;
  const window = { ...progress, windowAt: now, windowBytes: bytesRead };
  if (isHeldBack) return window;
  if (progress.windowAt === null) {
    if (hasData) return window;
    return now - progress.beganAt >= FIRST_BYTE_MS ? "late" : progress;
  }
  const elapsedMs = now - progress.windowAt;
  if (elapsedMs < WINDOW_MS) return progress;
  const isFast = isUpload && progress.windowAt - progress.beganAt >= UPLOAD_AFTER_MS;
  const needed = ((isFast ? UPLOAD_BYTES_PER_SECOND : BYTES_PER_SECOND) * elapsedMs) / 1_000;
  return bytesRead - progress.windowBytes >= needed ? window : "late";
}
