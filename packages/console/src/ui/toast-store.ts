/** What is said for a moment: that something was done, or why it was not. */
export type Toast = { id: number; text: string; isError: boolean; requestId: string | null };

const SHOWN_MS = 6000;
const MAX_SHOWN = 4;
let toasts: readonly Toast[] = [];
let lastId = 0;
const listeners = new Set<() => void>();

function replace(next: readonly Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

export function showToast(said: { text: string } | { error: unknown }): void {
  lastId += 1;
  const id = lastId;
  const toast: Toast =
    "text" in said
      ? { id, text: said.text, isError: false, requestId: null }
      : { id, text: messageOf(said.error), isError: true, requestId: requestIdOf(said.error) };
  replace([...toasts.slice(1 - MAX_SHOWN), toast]);
  setTimeout(() => dismissToast(id), toast.isError ? SHOWN_MS * 2 : SHOWN_MS);
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const requestIdOf = (error: unknown): string | null =>
  typeof error === "object" && error !== null && "requestId" in error && typeof error.requestId === "string"
    ? error.requestId
    : null;

export const dismissToast = (id: number): void => replace(toasts.filter((toast) => toast.id !== id));

export const subscribeToasts = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

export const currentToasts = (): readonly Toast[] => toasts;
