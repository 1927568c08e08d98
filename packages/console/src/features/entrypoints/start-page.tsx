import type {
  Run,
  StartActor as StartActorBody,
  StartedActor,
  StartTask as StartTaskBody,
  Task,
} from "@keelson/contract";
import { useNavigate } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { send } from "../../api/client.ts";
import { usePlace } from "../../api/place.ts";
import { useAction } from "../../api/use-action.ts";
import { at } from "../../api/route.ts";
import { startActor } from "../../api/routes/actors.ts";
import { startTask } from "../../api/routes/tasks.ts";
import { EnvironmentLink } from "../../app/environment-link.tsx";
import { Page } from "../../ui/page.tsx";
import { StartForm, type Part } from "../start/start-form.tsx";
import { SESSION_FIELDS } from "../start/start-schemas.ts";
import { ANYTHING } from "../../ui/schema-form/json-schema.ts";
import { useDraft } from "../../ui/schema-form/use-draft.ts";
import type { Entrypoint } from "./entrypoint-kind.ts";
import { WithEntrypoint } from "./with-entrypoint.tsx";

export const StartTaskPage = (): ReactNode => (
  <WithEntrypoint kind="task">{(task) => <StartTask key={task.declared_id} task={task} />}</WithEntrypoint>
);
export const StartActorPage = (): ReactNode => (
  <WithEntrypoint kind="actor">
    {(actor) => <StartActor key={actor.declared_id} actor={actor} />}
  </WithEntrypoint>
);

function StartTask({
  task: { declared_id: declaredId, payload_schema: schema, description },
}: {
  task: Task;
}): ReactNode {
  const { environment_id: environmentId } = usePlace();
  const navigate = useNavigate();
  const payload = useDraft("payload", schema ?? ANYTHING);
  const start = useAction<Record<string, unknown>, Run>(
    (place, body) =>
      send(at(startTask, { declaredID: declaredId }), { body: { ...place, ...(body as StartTaskBody) } }),
    {
      isShownInPlace: true,
      done: "The run is created",
      onDone: ({ id }) => void navigate({ to: `/e/${environmentId}/runs/${id}` }),
    },
  );
  return (
    <Page
      title={`Start ${declaredId}`}
      subtitle={description ?? <EnvironmentLink to={`tasks/${declaredId}`}>About this task</EnvironmentLink>}
    >
      <StartForm
        parts={[{ draft: payload, title: "Payload", hasJson: true }]}
        onStart={(body) => start.mutateAsync(body)}
      />
    </Page>
  );
}

function StartActor({
  actor: { declared_id: declaredId, payload_schema: schema, description },
}: {
  actor: Entrypoint;
}): ReactNode {
  const { environment_id: environmentId } = usePlace();
  const navigate = useNavigate();
  const input = useDraft("input", ANYTHING);
  const payload = useDraft("payload", schema ?? ANYTHING);
  const session = useDraft("session", SESSION_FIELDS);
  const parts: Part[] = [
    { draft: input, title: "First input", hasJson: true },
    { draft: session, title: "Session", hasJson: false },
    ...(schema === null ? [] : [{ draft: payload, title: "Payload", hasJson: true }]),
  ];
  const start = useAction<Record<string, unknown>, StartedActor>(
    (place, body) =>
      send(at(startActor, { declaredID: declaredId }), { body: { ...place, ...(body as StartActorBody) } }),
    {
      isShownInPlace: true,
      done: "The session is open",
      onDone: (started) => void navigate({ to: `/e/${environmentId}/sessions/${started.session.id}` }),
    },
  );
  return (
    <Page
      title={`Start ${declaredId}`}
      subtitle={
        description ?? <EnvironmentLink to={`actors/${declaredId}`}>About this actor</EnvironmentLink>
      }
    >
      <StartForm parts={parts} onStart={(body) => start.mutateAsync(body)} />
    </Page>
  );
}
