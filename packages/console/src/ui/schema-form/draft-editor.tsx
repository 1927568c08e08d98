import { useMemo, useState, type ReactNode } from "react";
import { Button } from "../button.tsx";
import { CheckField, TextAreaField } from "../field.tsx";
import { Section } from "../page.tsx";
import { visibleText } from "../visible-text.ts";
import type { Shared } from "./draft-form.tsx";
import { FormContext, type FormState } from "./form-state.ts";
import { Members } from "./group-field.tsx";
import { describeSchema, isObject } from "./json-schema.ts";
import { textOfJson } from "./plain-fields.tsx";
import { SchemaField } from "./schema-field.tsx";
import { parseJson, Unparsed } from "./unparsed.ts";
import type { Draft } from "./use-draft.ts";

type EditorProps = Shared & { draft: Draft };

/** The fields of a draft, each with what is wrong with it. */
export function DraftFields({
  draft,
  isSent,
  refused,
  isTitled = false,
}: EditorProps & Partial<Pick<FormState, "isTitled">>): ReactNode {
  const { name, schema, value, setValue, issues } = draft;
  const [touched, setTouched] = useState<ReadonlySet<string>>(new Set());
  const state = useMemo<FormState>(() => {
    const own = new Map(issues.toReversed().map(({ path, message }) => [path, message]));
    return {
      root: schema,
      isTitled,
      Field: SchemaField,
      issueAt: (path) => {
        const issue = refused.get(path) ?? (isSent || touched.has(path) ? own.get(path) : undefined);
        return issue === undefined ? null : visibleText(issue);
      },
      touch: (path) => setTouched((before) => (before.has(path) ? before : new Set([...before, path]))),
    };
  }, [issues, schema, refused, isSent, touched, isTitled]);
  const shape = useMemo(() => describeSchema(schema, schema), [schema]);
  return (
    <FormContext value={state}>
      {shape.kind === "object" && isObject(value) ? (
        <>
          <Members path={name} value={value} onChange={setValue} shape={shape} />
          {shape.isNullable && (
            <CheckField label={`${name} is null`} checked={false} onChange={() => setValue(null)} />
          )}
        </>
      ) : (
        <SchemaField label={name} path={name} schema={schema} value={value} onChange={setValue} isRequired />
      )}
    </FormContext>
  );
}

/** The same with a switch to JSON, which keeps what was written. */
export function DraftEditor({ title, ...props }: EditorProps & { title: string }): ReactNode {
  const { draft } = props;
  const { isJson, setIsJson, value, schema } = draft;
  const hasFields = useMemo(() => describeSchema(schema, schema).kind !== "json", [schema]);
  return (
    <Section
      title={title}
      actions={
        hasFields && (
          <Button
            aria-pressed={isJson}
            disabled={isJson && value instanceof Unparsed}
            onClick={() => setIsJson(!isJson)}
          >
            As JSON
          </Button>
        )
      }
    >
      {isJson ? <JsonEditor {...props} /> : <DraftFields {...props} />}
    </Section>
  );
}

/** The draft as it will be sent, whatever its schema says of it. */
export function JsonEditor({
  draft: { name, value, setValue, issues },
  refused,
  label = `${name} as JSON`,
  help = "Shows every field.",
}: EditorProps & { label?: string; help?: string }): ReactNode {
  const [text, setText] = useState(() => textOfJson(value));
  const amiss = value instanceof Unparsed ? value.message : null;
  const [hint] = issues;
  return (
    <TextAreaField
      label={label}
      hint={
        amiss === null && hint !== undefined
          ? visibleText(`This may not match the schema: ${hint.path} ${hint.message}.`)
          : help
      }
      error={amiss ?? refused.get(name)}
      rows={10}
      spellCheck={false}
      value={text}
      onChange={({ target }) => {
        setText(target.value);
        setValue(parseJson(target.value));
      }}
    />
  );
}
