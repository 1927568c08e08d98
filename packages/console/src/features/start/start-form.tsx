import { Play } from "lucide-react";
import type { ReactNode } from "react";
import { Card } from "../../ui/page.tsx";
import { DraftEditor, DraftFields } from "../../ui/schema-form/draft-editor.tsx";
import { DraftForm } from "../../ui/schema-form/draft-form.tsx";
import { formPathOf, START_OPTIONS } from "./start-schemas.ts";
import { useDraft, type Draft } from "../../ui/schema-form/use-draft.ts";

export type Part = { draft: Draft; title: string; hasJson: boolean };

type StartFormProps = {
  /** What is asked for before the options. */
  parts: readonly Part[];
  /** Rejects with what the server refuses. */
  onStart: (body: Record<string, unknown>) => Promise<unknown>;
};

/** Asks for what a start needs; the options, which few starts need, are folded away. */
export function StartForm({ parts, onStart }: StartFormProps): ReactNode {
  const options = useDraft("options", START_OPTIONS);
  return (
    <DraftForm
      drafts={[...parts.map(({ draft }) => draft), options]}
      verb="Start"
      icon={<Play size={15} aria-hidden />}
      formPathOf={formPathOf}
      onSend={() => onStart(bodyOf(parts, options))}
    >
      {(shared) => (
        <>
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
        </>
      )}
    </DraftForm>
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
