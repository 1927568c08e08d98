import type { Run } from "@keelson/contract";
import type { UseMutationResult } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useMemo, useState, type ReactNode } from "react";
import { send } from "../../api/client.ts";
import { usePlace } from "../../api/place.ts";
import { useAction } from "../../api/use-action.ts";
import { at } from "../../api/route.ts";
import { startActor } from "../../api/routes/actors.ts";
import { startTask } from "../../api/routes/tasks.ts";
import { Button } from "../../ui/button.tsx";
import { CopyText } from "../../ui/copy-button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { ErrorPanel } from "../../ui/error-panel.tsx";
import { CheckField, TextAreaField } from "../../ui/field.tsx";
import { startCommands } from "./commands-of.ts";

type Parsed = { value: unknown; problem: null } | { value: undefined; problem: string };

function parseJson(text: string): Parsed {
  try {
    return { value: JSON.parse(text) as unknown, problem: null };
  } catch (error) {
    return { value: undefined, problem: error instanceof Error ? error.message : "This is not JSON." };
  }
}

type Start = { payload: unknown; isSame: boolean };

/** Starts it, closes the dialog and shows the new run. */
function useStart(run: Run, onClose: () => void): UseMutationResult<Run, Error, Start> {
  const { environment_id } = usePlace();
  const navigate = useNavigate();
  const options = {
    tags: run.tags,
    queue: run.queue,
    priority: run.priority,
    ...(run.concurrency_key !== null && { concurrency_key: run.concurrency_key }),
  };
  return useAction<Start, Run>(
    async (place, { payload, isSame }) => {
      const body = { ...place, ...(isSame && options) };
      if (run.task !== null)
        return send(at(startTask, { declaredID: run.task }), { body: { ...body, payload } });
      const actor = at(startActor, { declaredID: run.actor ?? "" });
      return (await send(actor, { body: { ...body, input: payload } })).run;
    },
    {
      done: "Started",
      isShownInPlace: true,
      onDone: ({ id }) => {
        onClose();
        void navigate({
          to: "/e/$environmentId/runs/$runId",
          params: { environmentId: environment_id, runId: id },
        });
      },
    },
  );
}

/** Starts the same task, or a new session of the same actor, by the current deployment. */
export function StartAgain({ run, onClose }: { run: Run; onClose: () => void }): ReactNode {
  const [text, setText] = useState(() => JSON.stringify(run.payload, null, 2));
  const [isSame, setIsSame] = useState(true);
  const parsed = useMemo(() => parseJson(text), [text]);
  const start = useStart(run, onClose);
  const { curl } = startCommands({ ...run, payload: parsed.value ?? null }, location.origin);
  return (
    <Dialog
      title={`Start ${run.task ?? run.actor ?? ""} again`}
      description={
        run.task === null
          ? "Starts a new session of the actor on the current deployment."
          : "Starts a new run of the task on the current deployment. This run does not change."
      }
      isOpen
      onClose={onClose}
    >
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          if (parsed.problem === null) start.mutate({ payload: parsed.value, isSame });
        }}
      >
        <TextAreaField
          label={run.task === null ? "Input" : "Payload"}
          rows={10}
          spellCheck={false}
          value={text}
          error={parsed.problem}
          onChange={({ target }) => setText(target.value)}
        />
        <CheckField
          label="With the same tags, queue, concurrency key and priority"
          checked={isSame}
          onChange={({ target }) => setIsSame(target.checked)}
        />
        {start.error !== null && <ErrorPanel error={start.error} />}
        {parsed.problem === null && text.length < 2000 && <CopyText text={curl} />}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Close</Button>
          <Button type="submit" kind="primary" isBusy={start.isPending} disabled={parsed.problem !== null}>
            Start
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
