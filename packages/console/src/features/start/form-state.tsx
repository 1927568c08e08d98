import { createContext, use } from "react";
import type { Schema } from "./json-schema.ts";

/** What the fields of one form share. */
export type FormState = {
  /** References lead into it. */
  root: Schema;
  /** What is wrong at a path, once its field was left or the form was sent. */
  issueAt: (path: string) => string | null;
  /** The field of the path was left. */
  touch: (path: string) => void;
};

export const FormContext = createContext<FormState | null>(null);

export function useFormState(): FormState {
  const state = use(FormContext);
  if (state === null) throw new Error("A field belongs into a form.");
  return state;
}
