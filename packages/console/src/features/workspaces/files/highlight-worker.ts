import { highlightLines, type HighlightRequest } from "./highlight-lines.ts";

/** A worker of its own: a text on which the patterns take forever stops nothing but this, which is ended then. */
addEventListener("message", ({ data }: MessageEvent<HighlightRequest>) => {
  postMessage(highlightLines(data));
});
