import { KeelsonError } from "@keelson/sdk/browser";
import { Play } from "lucide-react";
import { useEffect, useMemo, useRef, useState, type MouseEvent, type ReactNode } from "react";
import { Button } from "../../ui/button.tsx";
import { ErrorPanel } from "../../ui/error-panel.tsx";
import { Card } from "../../ui/page.tsx";
import { DraftEditor, DraftFields } from "./draft-editor.tsx";
import { formPathOf, START_OPTIONS } from "./start-schemas.ts";
import { Unparsed } from "./unparsed.ts";
import { useDraft, type Draft } from "./use-draft.ts";

export type Part = { draft: Draft; title: string; hasJson: boolean };

type StartFormProps = {
  /** What is asked for before the options. */
  parts: readonly Part[];
  /** Rejects with what the server refuses. */
  onStart: (body: Record<string, unknown>) => Promise<unknown>;
};

/** What stops a start here: JSON is sent as it is written, whatever the form thinks of it. */
const blocks = ({ isJson, value, issues }: Draft): boolean =>
  isJson ? value instanceof Unparsed : issues.length > 0;

const issuesOf = (error: unknown): ReadonlyMap<string, string> =>
  new Map(
    error instanceof KeelsonError ? error.issues.map(({ path, message }) => [formPathOf(path), message]) : [],
  );

/**
 * What is pressed by the mouse leaves the focus where it is. Else the field that was written in would say what is wrong
 * with it just then, and what is pressed would move away from under the mouse.
 */
function keepFocus(event: MouseEvent): void {
  const target = event.target as Element;
  if (target.closest("button, label, summary, input[type=checkbox]") !== null) event.preventDefault();
}

/** Asks for what a start needs, and says at its field what the server refuses. */
export function StartForm({ parts, onStart }: StartFormProps): ReactNode {
  const options = useDraft("options", START_OPTIONS);
  const drafts = [...parts.map(({ draft }) => draft), options];
  const [attempts, setAttempts] = useState(0);
  const [isBusy, setIsBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const form = useRef<HTMLFormElement>(null);
  const refused = useMemo(() => issuesOf(error), [error]);
  const shared = { isSent: attempts > 0, refused };
  useEffect(() => {
    if (attempts > 0) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [attempts, refused]);
  const start = async (): Promise<void> => {
    setAttempts(attempts + 1);
    setError(null);
    if (drafts.some(blocks)) return;
    setIsBusy(true);
    try {
      await onStart(bodyOf(parts, options));
    } catch (failure) {
      setError(failure);
    }
    setIsBusy(false);
  };
  return (
    <form
      ref={form}
      noValidate
      className="flex max-w-3xl flex-col gap-4"
      onMouseDown={keepFocus}
      onSubmit={(event) => {
        event.preventDefault();
        void start();
      }}
    >
      {parts.map(({ draft, title, hasJson }) => (
        <Card key={draft.name} className="flex flex-col gap-3">
          {hasJson ? (
            <DraftEditor draft={draft} title={title} {...shared} />
          ) : (
            <>
              <h2 className="text-base font-semibold">{title}</h2>
              <DraftFields draft={draft} {...shared} />
            </>
          )}
        </Card>
      ))}
      <details className="rounded-lg border border-line bg-surface p-4">
        <summary className="font-semibold">Options</summary>
        <div className="mt-3 flex flex-col gap-3">
          <DraftFields draft={options} {...shared} />
        </div>
      </details>
      {error !== null && <ErrorPanel error={error} />}
      {attempts > 0 && error === null && <Amiss drafts={drafts} />}
      <div>
        <Button type="submit" kind="primary" isBusy={isBusy} icon={<Play size={15} aria-hidden />}>
          Start
        </Button>
      </div>
    </form>
  );
}

function bodyOf(parts: readonly Part[], options: Draft): Record<string, unknown> {
  const body = { ...(options.value as Record<string, unknown>) };
  for (const { draft } of parts) {
    const isEmpty = draft.value === undefined || (!isPayload(draft) && JSON.stringify(draft.value) === "{}");
    if (!isEmpty) body[draft.name] = draft.value;
  }
  return body;
}

const isPayload = ({ name }: Draft): boolean => name !== "session";

/** What keeps it from being sent; some of it may be in fields that are folded away. */
function Amiss({ drafts }: { drafts: readonly Draft[] }): ReactNode {
  const issues = drafts.filter(blocks).flatMap((draft) => draft.issues);
  if (issues.length === 0) return null;
  return (
    <div role="alert" className="rounded-lg border border-line bg-bad-ground p-4 text-bad">
      <p className="font-medium">This does not fit yet:</p>
      <ul className="list-disc pl-5">
        {issues.map(({ path, message }) => (
          <li key={`${path} ${message}`}>
            <code className="font-mono text-xs">{path}</code> {message}
          </li>
        ))}
      </ul>
    </div>
  );
}
