import type { Run } from "@keelson/contract";
import type { ReactNode } from "react";
import { JsonView } from "../../ui/json-view.tsx";
import { Facts, Section } from "../../ui/page.tsx";
import { Time } from "../../ui/time.tsx";

/** What went in, what came out, and what the run's code said of itself. */
export function RunData({ run }: { run: Run }): ReactNode {
  return (
    <div className="flex flex-col gap-5">
      <div className="grid gap-5 lg:grid-cols-2 [&>*]:min-w-0">
        <Section title="Payload">
          <JsonView value={run.payload} label="Payload as JSON" />
        </Section>
        <Section title="Output">
          <JsonView value={run.output} label="Output as JSON" />
        </Section>
      </div>
      <Section title="Metadata">
        <JsonView value={run.metadata} label="Metadata as JSON" />
      </Section>
      <Section title="Details">
        <Facts
          rows={[
            ["Started", <Time key="started" at={run.started_at} />],
            ["Finished", <Time key="finished" at={run.finished_at} />],
            ["Expires", <Time key="expires" at={run.expires_at} />],
            ["Most time", run.max_duration ?? "–"],
            ["Client", run.client_version ?? "–"],
            ["CLI", run.cli_version ?? "–"],
            ["SDK", run.sdk_version ?? "–"],
          ]}
        />
      </Section>
      <details>
        <summary className="font-medium">The whole run as JSON</summary>
        <div className="mt-2">
          <JsonView value={run} label="The run as JSON" />
        </div>
      </details>
    </div>
  );
}
