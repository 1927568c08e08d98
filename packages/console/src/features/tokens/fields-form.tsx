import type { ReactNode } from "react";
import { DraftFields, JsonEditor } from "../../ui/schema-form/draft-editor.tsx";
import { DraftForm, type Shared } from "../../ui/schema-form/draft-form.tsx";
import { ANYTHING, type Schema } from "../../ui/schema-form/json-schema.ts";
import { useDraft, type Draft } from "../../ui/schema-form/use-draft.ts";
import type { Completing } from "./complete-token.tsx";

/** The fields that the token's schema names. */
export function FieldsForm({ schema, completing }: { schema: Schema; completing: Completing }): ReactNode {
  const draft = useDraft("data", schema);
  return (
    <CompletionDraft draft={draft} completing={completing}>
      {(shared) => <DraftFields draft={draft} isTitled {...shared} />}
    </CompletionDraft>
  );
}

export function JsonForm({ completing }: { completing: Completing }): ReactNode {
  const draft = useDraft("data", ANYTHING);
  return (
    <CompletionDraft draft={draft} completing={completing}>
      {(shared) => (
        <JsonEditor
          draft={draft}
          label="Data"
          help="Any JSON. Empty means null. The waiting run receives this value."
          {...shared}
        />
      )}
    </CompletionDraft>
  );
}

/** What the server refuses is shown beside the form: it may have been sent by another one of the token. */
function CompletionDraft({
  draft,
  completing,
  children,
}: {
  draft: Draft;
  completing: Completing;
  children: (shared: Shared) => ReactNode;
}): ReactNode {
  return (
    <DraftForm
      drafts={[draft]}
      verb="Complete"
      isDisabled={completing.isPending || completing.isSuccess}
      onSend={() => Promise.resolve(completing.mutate(draft.value ?? null))}
    >
      {children}
    </DraftForm>
  );
}
