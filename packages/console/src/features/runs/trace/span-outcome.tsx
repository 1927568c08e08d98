import type { RunCall } from "@keelson/contract";
import { useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { usePlace } from "../../../api/place.ts";
import { at, type AnswerOf } from "../../../api/route.ts";
import { getRun, listRunCalls } from "../../../api/routes/runs.ts";
import { getToken } from "../../../api/routes/tokens.ts";
import { itemKey, useItem } from "../../../api/use-item.ts";
import { EnvironmentLink, TEXT_LINK } from "../../../app/environment-link.tsx";
import { Async } from "../../../ui/async.tsx";
import { JsonView } from "../../../ui/json-view.tsx";
import { Status } from "../../../ui/status.tsx";
import { visibleLines } from "../../../ui/visible-text.ts";
import { StackView } from "../header/stack-view.tsx";
import type { Span } from "./span.ts";

/** What came of the span, as far as it is more than its events say. */
export function SpanOutcome({ span }: { span: Span }): ReactNode {
  const { kind, position, runId, toMs, events } = span;
  if (kind === "child") return <ChildOutcome runId={runId} />;
  if (kind === "token") return <TokenOutcome id={span.label} />;
  if (kind === "output")
    return (
      <p>
        {events.reduce((sum, { attributes }) => sum + numberOf(attributes["records"]), 0).toLocaleString()}{" "}
        records of the stream <bdi>{span.label}</bdi>
      </p>
    );
  if (kind !== "step" && kind !== "wait") return null;
  if (toMs === null) return <p className="text-quiet">There is no outcome yet.</p>;
  if (position === null)
    return <p className="text-quiet">The SDK of this run does not say which outcome is of this step.</p>;
  return <CallOutcome runId={runId} position={position} />;
}

const REFETCH_MS = 2000;

function CallOutcome({ runId, position }: { runId: string; position: number }): ReactNode {
  const place = usePlace();
  const route = at(listRunCalls, { id: runId });
  const query = { position };
  const known = useQueryClient().getQueryData<AnswerOf<typeof route>>(
    itemKey(place.environment_id, route, query),
  );
  // Its event comes first; what is kept does not change.
  const result = useItem(route, { query, refetchMs: known?.calls.length === 1 ? undefined : REFETCH_MS });
  return (
    <Async result={result}>
      {({ calls: [call] }) =>
        call === undefined ? (
          <p className="text-quiet">No outcome was kept: another attempt makes the call again.</p>
        ) : (
          <Outcome call={call} />
        )
      }
    </Async>
  );
}

function Outcome({ call: { kind, value, error, wait } }: { call: RunCall }): ReactNode {
  if (error !== null)
    return (
      <div className="flex flex-col gap-1">
        <p className="font-medium break-words text-bad">
          <bdi className="whitespace-pre-wrap">{visibleLines(`${error.name}: ${error.message}`)}</bdi>
        </p>
        {error.stack !== null && <StackView stack={error.stack} />}
      </div>
    );
  if (wait?.status === "timed_out") return <p>Its time ran out before anything came.</p>;
  if (wait?.status === "cancelled") return <p>The code gave it up before anything came.</p>;
  return (
    <LabelledJson
      heading={kind === "wait" ? "What it got" : "Result"}
      value={value}
      label="Result of the span"
    />
  );
}

/** `label`: what a screen reader calls it. */
function LabelledJson({
  heading,
  value,
  label,
}: {
  heading: string;
  value: unknown;
  label: string;
}): ReactNode {
  return (
    <div className="flex flex-col gap-1">
      <h3 className="text-xs text-quiet">{heading}</h3>
      <JsonView value={value} label={label} />
    </div>
  );
}

function ChildOutcome({ runId }: { runId: string }): ReactNode {
  const result = useItem(at(getRun, { id: runId }), { refetchMs: REFETCH_MS });
  return (
    <Async result={result}>
      {({ status, payload, output, failure }) => (
        <div className="flex flex-col gap-3">
          <p className="flex flex-wrap items-center gap-3">
            <Status value={status} />
            <EnvironmentLink to={`runs/${runId}`} className={TEXT_LINK}>
              Open this run
            </EnvironmentLink>
          </p>
          {failure !== null && (
            <p className="font-medium break-words text-bad">
              <bdi className="whitespace-pre-wrap">{visibleLines(failure.message)}</bdi>
            </p>
          )}
          <LabelledJson heading="Payload" value={payload} label="Payload of the child run" />
          <LabelledJson heading="Output" value={output} label="Output of the child run" />
        </div>
      )}
    </Async>
  );
}

function TokenOutcome({ id }: { id: string }): ReactNode {
  const result = useItem(at(getToken, { id }), { refetchMs: REFETCH_MS });
  return (
    <Async result={result}>
      {({ status, data, metadata }) => (
        <div className="flex flex-col gap-3">
          <p className="flex flex-wrap items-center gap-3">
            <Status value={status} />
            <EnvironmentLink to={`tokens/${id}`} className={TEXT_LINK}>
              Open this token
            </EnvironmentLink>
          </p>
          <LabelledJson heading="Metadata" value={metadata} label="Metadata of the token" />
          <LabelledJson heading="Data" value={data} label="Data of the token" />
        </div>
      )}
    </Async>
  );
}

const numberOf = (value: unknown): number => (typeof value === "number" ? value : 0);
