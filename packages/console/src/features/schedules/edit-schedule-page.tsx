import type { PutSchedule, ReplaceSchedule, Schedule } from "@keelson/contract";
import { useNavigate, useParams } from "@tanstack/react-router";
import { useMemo, type ReactNode } from "react";
import { send } from "../../api/client.ts";
import { usePlace } from "../../api/place.ts";
import { useAction } from "../../api/use-action.ts";
import { useItem } from "../../api/use-item.ts";
import { at } from "../../api/route.ts";
import { getSchedule, putSchedule, replaceSchedule } from "../../api/routes/schedules.ts";
import { ItemAsync } from "../../app/item-async.tsx";
import { Async } from "../../ui/async.tsx";
import { Page } from "../../ui/page.tsx";
import { useEntrypoints, type Entrypoint } from "../entrypoints/entrypoint-kind.ts";
import { ScheduleForm } from "./schedule-form.tsx";

/** What the form makes by the schema that it shows. */
type Body = Record<string, unknown>;

const namesOf = (tasks: readonly Entrypoint[]): string[] => tasks.map(({ declared_id: id }) => id);

export function NewSchedulePage(): ReactNode {
  const tasks = useEntrypoints("task");
  const save = useSave((place, body) => send(putSchedule, { body: { ...place, ...(body as PutSchedule) } }));
  return (
    <Page title="New schedule">
      <Async result={tasks}>{(rows) => <Form tasks={rows} onSend={save} />}</Async>
    </Page>
  );
}

export function EditSchedulePage(): ReactNode {
  const { scheduleId } = useParams({ strict: false });
  const params = { id: scheduleId ?? "" };
  const schedule = useItem(at(getSchedule, params));
  const tasks = useEntrypoints("task");
  const save = useSave((place, body) =>
    send(at(replaceSchedule, params), { body: { ...place, ...(body as ReplaceSchedule) } }),
  );
  return (
    <ItemAsync result={schedule}>
      {(shown) => (
        <Page title={`Edit ${shown.deduplication_key}`}>
          {shown.type === "declarative" ? (
            <p>Your code declares this schedule. Change the code and deploy it.</p>
          ) : (
            <Async result={tasks}>{(rows) => <Form tasks={rows} schedule={shown} onSend={save} />}</Async>
          )}
        </Page>
      )}
    </ItemAsync>
  );
}

function useSave(
  work: (place: { project_id: string; environment_id: string }, body: Body) => Promise<Schedule>,
): (body: Body) => Promise<Schedule> {
  const { environment_id: environmentId } = usePlace();
  const navigate = useNavigate();
  const { mutateAsync } = useAction<Body, Schedule>(work, {
    isShownInPlace: true,
    done: "Schedule saved",
    onDone: ({ id }) => void navigate({ to: `/e/${environmentId}/schedules/${id}` }),
  });
  return mutateAsync;
}

/** Tasks are read again while the form is written; only another set of names makes other choices. */
function Form({
  tasks,
  ...props
}: {
  tasks: readonly Entrypoint[];
  schedule?: Schedule;
  onSend: (body: Body) => Promise<unknown>;
}): ReactNode {
  const text = JSON.stringify(namesOf(tasks));
  const names = useMemo(() => JSON.parse(text) as string[], [text]);
  return <ScheduleForm tasks={names} {...props} />;
}
