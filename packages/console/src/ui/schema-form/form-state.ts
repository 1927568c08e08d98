import { createContext, use, type ComponentType } from "react";
import type { Schema, Shape } from "./json-schema.ts";

export type ValueProps = {
  label: string;
  path: string;
  value: unknown;
  /** Undefined leaves it out. */
  onChange: (value: unknown) => void;
  isRequired: boolean;
};

export type ShapeProps = ValueProps & { shape: Shape; hint: string | null };

export type FieldProps = ValueProps & { schema: Schema };

/** What the fields of one form share. */
export type FormState = {
  /** References lead into it. */
  root: Schema;
  /** Fields are called by their titles, as a person is asked, and not by the names that code knows. */
  isTitled: boolean;
  /** What is wrong at a path, once its field was left or the form was sent. */
  issueAt: (path: string) => string | null;
  /** The field of whatever a schema asks for: fields hold others, to any depth. */
  Field: ComponentType<FieldProps>;
  /** The field of the path was left. */
  touch: (path: string) => void;
};

export const FormContext = createContext<FormState | null>(null);

export function useFormState(): FormState {
  const state = use(FormContext);
  if (state === null) throw new Error("A field belongs into a form.");
  return state;
}
