import { useState, type KeyboardEvent } from "react";
import { problemWith, readFiles } from "./attachments.ts";
import type { Draft } from "./chat-message.ts";

const problemOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Sends at Enter, and begins a line at Shift and Enter. Not at the Enter that ends the input of an East Asian word. */
export function sendAtEnter(event: KeyboardEvent<HTMLTextAreaElement>): void {
  if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
  event.preventDefault();
  event.currentTarget.form?.requestSubmit();
}

/** The draft with more files. One that is picked twice is attached once. */
function withFiles(draft: Draft, more: Draft["files"]): Draft & { problem: string } {
  const files = [...new Map([...draft.files, ...more].map((file) => [file.url, file])).values()];
  const problem = problemWith({ text: draft.text, files });
  return problem === null ? { ...draft, files, problem: "" } : { ...draft, problem };
}

/** What is being written: a text and files, and what is wrong with them. */
export function useDraft(begin: Draft) {
  const [draft, setDraft] = useState({ ...begin, problem: "" });
  const change = (changed: Partial<typeof draft>): void =>
    setDraft((before) => ({ ...before, problem: "", ...changed }));
  const fail = (error: unknown): void => change({ problem: problemOf(error) });
  return {
    ...draft,
    change,
    fail,
    add: (picked: readonly File[]): Promise<void> =>
      readFiles(picked).then((read) => setDraft((before) => withFiles(before, read)), fail),
    /** What can be sent; null when there is nothing to say, or too much. */
    read(): Draft | null {
      const message = { text: draft.text.trim(), files: draft.files };
      const problem = problemWith(message);
      if (problem !== null) change({ problem });
      return problem !== null || (message.text === "" && message.files.length === 0) ? null : message;
    },
  };
}
