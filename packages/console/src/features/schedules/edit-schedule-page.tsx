import type { Schedule } from "@keelson/contract";
import { useNavigate, useParams } from "@tanstack/react-router";
import { useMemo, type ReactNode } from "react";
import { send } from "../../api/client.ts";
import { usePlace } from "../../api/place.ts";
import { useAction } from "../../api/use-action.ts";
import { useItem } from "../../api/use-item.ts";
import { ItemAsync } from "../../app/item-async.tsx";
import { Async } from "../../ui/async.tsx";
import { Page } from "../../ui/page.tsx";
import { useEntrypoints, type Entrypoint } from "../entrypoints/entrypoint-kind.ts";
import { ScheduleForm } from "./schedule-form.tsx";

type Body = Record<string, unknown>;

const namesOf = (tasks: readonly Entrypoint[]): string[] => tasks.map(({ declared_id: id }) => id);

export function NewSchedulePage(): ReactNode {
  const tasks = useEntrypoints("task");
  const save = useSave((place, body) => send("POST", "/api/schedules", { body: { ...place, ...body } }));
  return (
    <Page title="New schedule">
      <Async result={tasks}>{(rows) => <Form tasks={rows} onSend={save} />}</Async>
    </Page>
  );
}

export function EditSchedulePage(): ReactNode {
  const { scheduleId } = useParams({ strict: false });
  const path = `/api/schedules/${scheduleId}`;
  const schedule = useItem<Schedule>(path);
  const tasks = useEntrypoints("task");
  const save = useSave((place, body) => send("PUT", path, { body: { ...place, ...body } }));
  return (
    <ItemAsync result={schedule}>
      {(shown) => (
        <Page title={`Edit ${shown.deduplication_key}`}>
          {shown.type === "declarative" ? (
            <p>The deployed code declares this schedule: change it there and deploy.</p>
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
    done: "The schedule is saved",
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
