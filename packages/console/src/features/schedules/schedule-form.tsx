import type { Schedule } from "@keelson/contract";
import { useEffect, useMemo, useState, type ReactNode } from "react";
import { Card } from "../../ui/page.tsx";
import { DraftFields } from "../../ui/schema-form/draft-editor.tsx";
import { DraftForm } from "../../ui/schema-form/draft-form.tsx";
import { memberOf } from "../../ui/schema-form/json-schema.ts";
import { SCHEDULE_OPTIONS } from "../start/start-schemas.ts";
import { useDraft } from "../../ui/schema-form/use-draft.ts";
import { describeCron } from "./describe-cron.ts";
import { NextRuns } from "./next-runs.tsx";
import { definitionPathOf, definitionSchema } from "./schedule-schema.ts";

const definitionOf = ({ task, cron, timezone, external_id, active }: Schedule): Record<string, unknown> => ({
  ...{ task, cron, timezone, active },
  ...(external_id !== null && { external_id }),
});

/** Asks for all of a schedule: what is left out gets its default. */
export function ScheduleForm({
  tasks,
  schedule,
  onSend,
}: {
  tasks: readonly string[];
  /** Absent: a new one. */
  schedule?: Schedule;
  onSend: (body: Record<string, unknown>) => Promise<unknown>;
}): ReactNode {
  const schema = useMemo(() => definitionSchema(tasks, schedule ?? null), [tasks, schedule]);
  const definition = useDraft(
    "definition",
    schema,
    schedule === undefined ? undefined : definitionOf(schedule),
  );
  const options = useDraft("options", SCHEDULE_OPTIONS, schedule?.options);
  const cron = useSettled(memberOf(definition.value, "cron"));
  const timezone = memberOf(definition.value, "timezone");
  return (
    <DraftForm
      drafts={[definition, options]}
      verb={schedule === undefined ? "Create" : "Save"}
      formPathOf={definitionPathOf}
      onSend={() =>
        onSend({ ...(definition.value as Record<string, unknown>), options: options.value ?? {} })
      }
    >
      {(shared) => (
        <>
          <Card className="flex flex-col gap-3">
            <DraftFields draft={definition} {...shared} />
          </Card>
          {typeof cron === "string" && typeof timezone === "string" && (
            <section aria-label="Comes due" className="flex flex-col gap-2">
              <p className="font-medium">{describeCron(cron) ?? "It comes due:"}</p>
              <NextRuns cron={cron} timezone={timezone} />
            </section>
          )}
          <details className="rounded-lg border border-line bg-surface p-4">
            <summary className="font-semibold">Run options</summary>
            <div className="mt-3 flex flex-col gap-3">
              <DraftFields draft={options} {...shared} />
            </div>
          </details>
        </>
      )}
    </DraftForm>
  );
}

const SETTLED_MS = 300;

/** What was written when nothing more was for a moment: what is half written is not asked about. */
function useSettled(value: unknown): unknown {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), SETTLED_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}
