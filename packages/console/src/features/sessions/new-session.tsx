import type { CreateSession, Session } from "@keelson/contract";
import { useNavigate } from "@tanstack/react-router";
import { useState, type ReactNode } from "react";
import { send } from "../../api/client.ts";
import { useAction } from "../../api/use-action.ts";
import { useItem } from "../../api/use-item.ts";
import { listActors } from "../../api/routes/actors.ts";
import { createSession } from "../../api/routes/sessions.ts";
import { Async } from "../../ui/async.tsx";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Empty } from "../../ui/empty.tsx";
import { ErrorPanel } from "../../ui/error-panel.tsx";
import { SelectField, TextAreaField, TextField } from "../../ui/field.tsx";
import { INPUT_FORM_LABELS, INPUT_FORMS, toInputData, type InputForm } from "./input-message.ts";

/** Asks for an actor and what is said first, makes the session and goes to it. */
export function NewSession({ actor, onClose }: { actor: string; onClose: () => void }): ReactNode {
  const actors = useItem(listActors, { query: { limit: 200 } });
  return (
    <Dialog title="New session" isOpen onClose={onClose}>
      <Async result={actors}>
        {({ actors: rows }) =>
          rows.length === 0 ? (
            <Empty title="No actors deployed" command="keelson deploy">
              A session is a conversation with an actor of the current deployment.
            </Empty>
          ) : (
            <NewSessionForm ids={rows.map(({ declared_id }) => declared_id)} actor={actor} />
          )
        }
      </Async>
    </Dialog>
  );
}

type Draft = { actor: string; form: InputForm; input: string; externalId: string; tags: string };

function NewSessionForm({ ids, actor }: { ids: string[]; actor: string }): ReactNode {
  const navigate = useNavigate();
  const [draft, setDraft] = useState<Draft>({
    actor: ids.includes(actor) ? actor : (ids[0] ?? ""),
    ...{ form: "text", input: "", externalId: "", tags: "" },
  });
  // A repeat of what was not answered makes no second session; what is changed is another one.
  const [key, setKey] = useState(() => crypto.randomUUID());
  const change = (changes: Partial<Draft>): void => {
    setDraft({ ...draft, ...changes });
    setKey(crypto.randomUUID());
  };
  const input = draft.input === "" ? null : toInputData(draft.form, draft.input);
  const problem = input !== null && "problem" in input ? input.problem : null;
  const start = useAction<void, Session>(
    (place) => send(createSession, { body: { ...place, ...toBody(draft), idempotency_key: key } }),
    {
      isShownInPlace: true,
      onDone: ({ id, environment_id }) =>
        void navigate({
          to: "/e/$environmentId/sessions/$sessionId",
          params: { environmentId: environment_id, sessionId: id },
        }),
    },
  );
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        if (problem === null) start.mutate();
      }}
    >
      <SelectField
        label="Actor"
        value={draft.actor}
        options={ids.map((id) => [id, id] as const)}
        onChange={({ target }) => change({ actor: target.value })}
      />
      <FirstInput draft={draft} problem={problem} onChange={change} />
      <TextField
        label="External id"
        value={draft.externalId}
        hint="Your own id of the conversation. If an open session has this id, you see that session."
        onChange={({ target }) => change({ externalId: target.value })}
      />
      <TextField
        label="Tags"
        value={draft.tags}
        hint="Separated by commas."
        onChange={({ target }) => change({ tags: target.value })}
      />
      {start.error !== null && <ErrorPanel error={start.error} />}
      <div className="flex justify-end">
        <Button type="submit" kind="primary" isBusy={start.isPending}>
          Start
        </Button>
      </div>
    </form>
  );
}

function FirstInput({
  draft,
  problem,
  onChange: change,
}: {
  draft: Draft;
  problem: string | null;
  onChange: (changes: Partial<Draft>) => void;
}): ReactNode {
  return (
    <div className="grid gap-3 sm:grid-cols-[1fr_9rem]">
      <TextAreaField
        label="First input"
        rows={3}
        value={draft.input}
        error={problem}
        hint="The first record of the input stream. Leave empty to start without input."
        onChange={({ target }) => change({ input: target.value })}
      />
      <SelectField
        label="Sent as"
        value={draft.form}
        options={INPUT_FORMS.map((form) => [form, INPUT_FORM_LABELS[form]] as const)}
        onChange={({ target }) =>
          change({ form: INPUT_FORMS.find((form) => form === target.value) ?? "text" })
        }
      />
    </div>
  );
}

function toBody({ actor, form, input, externalId, tags }: Draft): CreateSession {
  const first = input === "" ? {} : toInputData(form, input);
  const list = tags.split(",").map((tag) => tag.trim());
  const named = list.filter((tag) => tag !== "");
  return {
    actor,
    ...("data" in first && { input: first.data }),
    ...(externalId.trim() !== "" && { external_id: externalId.trim() }),
    ...(named.length > 0 && { tags: named }),
  };
}
