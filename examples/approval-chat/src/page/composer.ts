import { byId } from "./elements.ts";

/** Where a message is written, and what is said when something does not work. */
export type Composer = {
  focus(): void;
  /** Puts back what was not sent, unless something else was written meanwhile. */
  putBack(text: string): void;
  showProblem(problem: string): void;
  /** An answer is being written, and this stops it; null: none is. */
  offerStop(stop: (() => void) | null): void;
  /** Nothing can be sent any more. */
  end(): void;
};

export function createComposer(onSend: (text: string) => void): Composer {
  const form = byId("form", HTMLFormElement);
  const text = byId("text", HTMLTextAreaElement);
  const send = byId("send", HTMLButtonElement);
  const stop = byId("stop", HTMLButtonElement);
  const problem = byId("problem", HTMLElement);
  let stopping: (() => void) | null = null;

  stop.addEventListener("click", () => stopping?.());
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const written = text.value.trim();
    if (written === "") return;
    problem.textContent = "";
    text.value = "";
    text.focus();
    onSend(written);
  });
  text.addEventListener("keydown", (event) => {
    // Not the Enter that ends the input of an East Asian word.
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    form.requestSubmit();
  });
  // What one might say at first.
  byId("start", HTMLElement).addEventListener("click", ({ target }) => {
    if (!(target instanceof HTMLButtonElement)) return;
    text.value = target.textContent;
    form.requestSubmit();
  });

  return {
    focus: () => text.focus(),
    putBack(written) {
      if (text.value === "") text.value = written;
    },
    showProblem(words) {
      problem.textContent = words;
    },
    offerStop(onStop) {
      stopping = onStop;
      stop.hidden = onStop === null;
    },
    end() {
      stop.hidden = true;
      send.disabled = text.disabled = true;
    },
  };
}
