import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { usePlace } from "../api/place.ts";
import { cx } from "../ui/class-names.ts";
import { pageAddress } from "./navigation.ts";

/** Of links within sentences, which their colour alone does not tell from the words around them. */
export const TEXT_LINK = "text-accent underline";

/** Leads to a page of the environment that is looked at: `to="runs/run_…"`. */
export function EnvironmentLink({
  to,
  search,
  className,
  children,
}: {
  to: string;
  /** What the page is asked to show, as its address has it. */
  search?: Record<string, unknown>;
  className?: string;
  children: ReactNode;
}): ReactNode {
  const { environment_id: environmentId } = usePlace();
  return (
    <Link
      to={pageAddress(`/e/${environmentId}`, to)}
      {...(search !== undefined && { search: search as never })}
      className={cx(className ?? "text-accent hover:underline")}
    >
      {children}
    </Link>
  );
}
