import type { AuditEvent } from "@keelson/contract";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { visibleText } from "../../ui/visible-text.ts";
import { pageOf, type Names } from "./audit-names.ts";

/** Who did it: a person by their name, anything else by its kind and id. */
export function Who({ event, names }: { event: AuditEvent; names: Names }): ReactNode {
  const { actor, environment_id: environmentId } = event;
  const name = actor.id === null ? undefined : names.get(actor.id);
  if (name === undefined) return <Thing kind={actor.kind} id={actor.id} environmentId={environmentId} />;
  return <span title={actor.id ?? undefined}>{visibleText(name)}</span>;
}

/** What it was done to, leading to its page where it has one. */
export const What = ({ event: { resource, environment_id } }: { event: AuditEvent }): ReactNode => (
  <Thing kind={resource.kind} id={resource.id} environmentId={environment_id} />
);

function Thing({
  kind,
  id,
  environmentId,
}: {
  kind: string;
  id: string | null;
  environmentId: string | null;
}): ReactNode {
  const page = pageOf(kind, id, environmentId);
  const word = kind.replaceAll("_", " ");
  if (id === null) return word;
  const short = <code className="font-mono text-xs">…{id.slice(-12)}</code>;
  return (
    <span title={id} className="whitespace-nowrap">
      {word}{" "}
      {page === null ? (
        short
      ) : (
        <Link to={page} className="text-accent hover:underline">
          {short}
        </Link>
      )}
    </span>
  );
}
