import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { usePlace } from "../../../api/place.ts";
import { pageAddress } from "../../../app/navigation.ts";
import { visibleText } from "../../../ui/visible-text.ts";

/** A thing of the run's environment, by the end of its id where it has no name. */
export function ResourceLink({
  page,
  id,
  text = `…${id.slice(-12)}`,
}: {
  page: "deployments" | "runs" | "schedules" | "sessions" | "tokens" | "workspaces";
  id: string;
  text?: string;
}): ReactNode {
  const { environment_id } = usePlace();
  return (
    <Link
      to={pageAddress(`/e/${environment_id}`, `${page}/${encodeURIComponent(id)}`)}
      title={id}
      className="font-mono text-xs text-accent underline-offset-2 hover:underline [p_&]:underline"
    >
      {visibleText(text)}
    </Link>
  );
}
