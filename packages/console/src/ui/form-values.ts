import type { SyntheticEvent } from "react";

/** What a submitted form holds: the text of a field by its name, and all texts of one that can be chosen many times. */
export type FormValues = { text: (name: string) => string; all: (name: string) => string[] };

/** Takes the values out of a submitted form and keeps the browser from sending it itself. */
export function formValues(event: SyntheticEvent<HTMLFormElement>): FormValues {
  event.preventDefault();
  const data = new FormData(event.currentTarget);
  const texts = (name: string): string[] =>
    data.getAll(name).filter((value): value is string => typeof value === "string");
  return { text: (name) => (texts(name)[0] ?? "").trim(), all: texts };
}
