import type { Schedule } from "@keelson/contract";
import { useNavigate } from "@tanstack/react-router";
import { Pause, Pencil, Play, Trash2 } from "lucide-react";
import type { ReactNode } from "react";
import { send } from "../../api/client.ts";
import { usePlace } from "../../api/place.ts";
import { useAction } from "../../api/use-action.ts";
import { at } from "../../api/route.ts";
import { activateSchedule, deactivateSchedule, deleteSchedule } from "../../api/routes/schedules.ts";
import { EnvironmentLink, TEXT_LINK } from "../../app/environment-link.tsx";
import { Button, buttonClass } from "../../ui/button.tsx";
import { ConfirmButton } from "../../ui/dialog.tsx";

/** What can be done with a schedule. One that the code declares changes with the code. */
export function ScheduleActions({ schedule }: { schedule: Schedule }): ReactNode {
  const { id, type, active, deduplication_key: key } = schedule;
  const { environment_id: environmentId } = usePlace();
  const navigate = useNavigate();
  const setActive = useAction<boolean>(
    (place, isActive) => send(at(isActive ? activateSchedule : deactivateSchedule, { id }), { body: place }),
    { done: active ? "It is paused" : "It is active" },
  );
  const remove = useAction((place) => send(at(deleteSchedule, { id }), { query: place }), {
    isShownInPlace: true,
    done: "Schedule deleted",
    onDone: () => void navigate({ to: `/e/${environmentId}/schedules`, replace: true }),
  });
  if (type === "declarative")
    return (
      <p className="max-w-sm text-sm text-quiet">
        Your code declares this schedule. Change the code and deploy it, or see the{" "}
        <EnvironmentLink to="deployments" className={TEXT_LINK}>
          deployments
        </EnvironmentLink>
        .
      </p>
    );
  return (
    <>
      <Button
        icon={active ? <Pause size={15} aria-hidden /> : <Play size={15} aria-hidden />}
        isBusy={setActive.isPending}
        onClick={() => setActive.mutate(!active)}
      >
        {active ? "Deactivate" : "Activate"}
      </Button>
      <EnvironmentLink to={`schedules/${id}/edit`} className={buttonClass()}>
        <Pencil size={15} aria-hidden /> Edit
      </EnvironmentLink>
      <ConfirmButton
        icon={<Trash2 size={15} aria-hidden />}
        title="Delete the schedule"
        description="This deletes the schedule and the history of its due times. Runs that it started stay. You cannot undo this."
        name={key}
        verb="Delete"
        onConfirm={() => remove.mutateAsync()}
      >
        Delete
      </ConfirmButton>
    </>
  );
}
