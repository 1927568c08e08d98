import { ApiError } from "@keelson/sdk/browser";
import { useEffect, useMemo, useRef, useState, type ReactNode } from "react";
import { Button } from "../button.tsx";
import { ErrorPanel } from "../error-panel.tsx";
import { visibleText } from "../visible-text.ts";
import { Unparsed } from "./unparsed.ts";
import type { Draft } from "./use-draft.ts";

/** What the fields of a form are told by it. */
export type Shared = {
  /** Whether all that is wrong is shown, not only where one has been. */
  isSent: boolean;
  /** What the server found wrong, by path. */
  refused: ReadonlyMap<string, string>;
};

type DraftFormProps = {
  drafts: readonly Draft[];
  verb: string;
  icon?: ReactNode;
  /** It cannot be sent now. */
  isDisabled?: boolean;
  /** Where the form shows what the server says of a path; absent, just there. */
  formPathOf?: (path: string) => string;
  /** Rejects with what the server refuses. */
  onSend: () => Promise<unknown>;
  children: (shared: Shared) => ReactNode;
};

/** What stops it here: JSON is sent as it is written, whatever the form thinks of it. */
const blocks = ({ isJson, value, issues }: Draft): boolean =>
  isJson ? value instanceof Unparsed : issues.length > 0;

const asItIs = (path: string): string => path;
const NOTHING: ReadonlyMap<string, string> = new Map();

/**
 * What is pressed by the mouse leaves the focus where it is. Else the field that was written in would say what is wrong
 * with it just then, and what is pressed would move away from under the mouse.
 */
function keepFocus(event: MouseEvent): void {
  const target = event.target as Element;
  if (target.closest("button, label, summary, input[type=checkbox]") !== null) event.preventDefault();
}

/** Sends what is written in its fields when all of it fits, and says at its field what the server refuses. */
export function DraftForm({
  drafts,
  verb,
  icon,
  isDisabled = false,
  formPathOf = asItIs,
  onSend,
  children,
}: DraftFormProps): ReactNode {
  const [attempts, setAttempts] = useState(0);
  const [isBusy, setIsBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const form = useRef<HTMLFormElement>(null);
  const refused = useMemo(
    () =>
      error instanceof ApiError
        ? new Map(error.issues.map(({ path, message }) => [formPathOf(path), message]))
        : NOTHING,
    [error, formPathOf],
  );
  const wrong =
    attempts > 0 && (refused.size > 0 || drafts.some(blocks)) ? `${attempts} ${refused.size}` : null;
  useEffect(() => {
    if (wrong !== null) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [wrong]);
  useEffect(() => {
    const element = form.current;
    element?.addEventListener("mousedown", keepFocus);
    return () => element?.removeEventListener("mousedown", keepFocus);
  }, []);
  const submit = async (): Promise<void> => {
    setAttempts(attempts + 1);
    setError(null);
    if (drafts.some(blocks)) return;
    setIsBusy(true);
    try {
      await onSend();
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
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      {children({ isSent: attempts > 0, refused })}
      {error !== null && <ErrorPanel error={error} />}
      {attempts > 0 && error === null && <Amiss drafts={drafts} />}
      <div>
        <Button type="submit" kind="primary" isBusy={isBusy} disabled={isDisabled} icon={icon}>
          {verb}
        </Button>
      </div>
    </form>
  );
}

/** What keeps it from being sent; some of it may be in fields that are folded away. */
function Amiss({ drafts }: { drafts: readonly Draft[] }): ReactNode {
  const issues = drafts.filter(blocks).flatMap((draft) => draft.issues);
  if (issues.length === 0) return null;
  return (
    <div role="alert" className="rounded-lg border border-line bg-bad-ground p-4 text-bad">
      <p className="font-medium">Please correct:</p>
      <ul className="list-disc pl-5">
        {issues.map(({ path, message }) => (
          <li key={`${path} ${message}`}>
            <code className="font-mono text-xs">{visibleText(path)}</code> {visibleText(message)}
          </li>
        ))}
      </ul>
    </div>
  );
}
