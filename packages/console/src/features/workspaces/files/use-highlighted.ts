import { useEffect, useState } from "react";
import type { HighlightRequest, Token } from "./highlight-lines.ts";
import { languageOf } from "./language-of.ts";

/** Longer texts are shown without colours. */
const MAX_CHARACTERS = 256 * 1024;
const MAX_MS = 4000;

/** The lines of a text in colours; null until they are known, and where they never are. `text` null asks for none. */
export function useHighlighted(path: string, text: string | null): Token[][] | null {
  const [found, setFound] = useState<{ text: string; lines: Token[][] } | null>(null);
  const language = languageOf(path);
  useEffect(() => {
    if (text === null || language === null || text.length > MAX_CHARACTERS) return undefined;
    const worker = new Worker(new URL("highlight-worker.ts", import.meta.url), { type: "module" });
    const timer = setTimeout(() => worker.terminate(), MAX_MS);
    worker.addEventListener("message", ({ data }: MessageEvent<Token[][]>) => {
      setFound({ text, lines: data });
      worker.terminate();
    });
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker has none
    worker.postMessage({ text, language } satisfies HighlightRequest);
    return () => {
      clearTimeout(timer);
      worker.terminate();
    };
  }, [text, language]);
  return found !== null && found.text === text ? found.lines : null;
}
