import type { Run } from "@keelson/contract";
import { useNavigate } from "@tanstack/react-router";
import { Play } from "lucide-react";
import { useMemo, type ReactNode } from "react";
import { send } from "../../api/client.ts";
import { usePlace } from "../../api/place.ts";
import { at, type BodyOf } from "../../api/route.ts";
import { startActor } from "../../api/routes/actors.ts";
import { listDeployments } from "../../api/routes/deployments.ts";
import { startTask } from "../../api/routes/tasks.ts";
import { useAction } from "../../api/use-action.ts";
import { useItem } from "../../api/use-item.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { DraftFields, JsonEditor } from "../../ui/schema-form/draft-editor.tsx";
import { DraftForm } from "../../ui/schema-form/draft-form.tsx";
import { ANYTHING } from "../../ui/schema-form/json-schema.ts";
import { Unparsed } from "../../ui/schema-form/unparsed.ts";
import { useDraft } from "../../ui/schema-form/use-draft.ts";
import { formPathOf } from "../start/start-schemas.ts";
import { CommandList } from "./command-list.tsx";
import { startCommands } from "./commands-of.ts";
import { optionsOf, optionsSchema, type StartRequest } from "./start-request.ts";

const MAX_VERSIONS = 25;
const MAX_COMMAND_CHARACTERS = 4000;

/** Starts it, closes the dialog and shows the new run. */
function useStart(onClose: () => void): (request: StartRequest) => Promise<Run> {
  const { environment_id } = usePlace();
  const navigate = useNavigate();
  const { mutateAsync } = useAction<StartRequest, Run>(
    async (place, { of, payload, options }) => {
      // Its fields are those of the schema that the form asks by.
      const body = { ...place, ...options } as BodyOf<typeof startTask>;
      if ("task" in of) return send(at(startTask, { declaredID: of.task }), { body: { ...body, payload } });
      return (await send(at(startActor, { declaredID: of.actor }), { body: { ...body, input: payload } }))
        .run;
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
  return mutateAsync;
}

/** Starts the same task, or a new session of the same actor, with another payload, version or options if wanted. */
export function StartAgain({ run, onClose }: { run: Run; onClose: () => void }): ReactNode {
  const deployments = useItem(listDeployments, { query: { status: "ready", limit: MAX_VERSIONS } });
  const schema = useMemo(
    () => optionsSchema(run, deployments.data?.deployments.map(({ version }) => version) ?? []),
    [run, deployments.data],
  );
  const isTask = run.task !== null;
  const payload = useDraft(isTask ? "payload" : "input", ANYTHING, run.payload);
  const options = useDraft(
    "options",
    schema,
    useMemo(() => optionsOf(run), [run]),
  );
  const start = useStart(onClose);
  const request: StartRequest = {
    of: run.task === null ? { actor: run.actor ?? "" } : { task: run.task },
    payload: payload.value,
    options: options.value as Record<string, unknown>,
  };
  const isUnparsed = payload.value instanceof Unparsed;
  return (
    <Dialog
      title={`Start ${run.task ?? run.actor ?? ""} again`}
      description={
        isTask
          ? "Starts a new run of the task. This run does not change."
          : "Starts a new session of the actor. This session does not change."
      }
      isOpen
      onClose={onClose}
    >
      <DraftForm
        drafts={[payload, options]}
        verb="Start"
        icon={<Play size={15} aria-hidden />}
        isDisabled={isUnparsed}
        formPathOf={formPathOf}
        onSend={() => start(request)}
      >
        {(shared) => (
          <>
            <JsonEditor
              draft={payload}
              label={isTask ? "Payload" : "Input"}
              help="Any JSON. Empty means null."
              {...shared}
            />
            <details className="rounded-lg border border-line p-3">
              <summary className="font-medium">Version and options</summary>
              <div className="mt-3 flex flex-col gap-3">
                <DraftFields draft={options} {...shared} />
              </div>
            </details>
            <AsCommands request={request} isHidden={isUnparsed || options.issues.length > 0} />
          </>
        )}
      </DraftForm>
    </Dialog>
  );
}

/** The same start for a terminal or a program. One that is too long to read is for neither. */
function AsCommands({ request, isHidden }: { request: StartRequest; isHidden: boolean }): ReactNode {
  if (isHidden || JSON.stringify(request).length > MAX_COMMAND_CHARACTERS) return null;
  return (
    <details className="rounded-lg border border-line p-3">
      <summary className="font-medium">As a command</summary>
      <div className="mt-3">
        <CommandList commands={startCommands(request, location.origin)} />
      </div>
    </details>
  );
}
