import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";

const LINK =
  "-mb-px border-b-2 border-transparent px-3 py-2 whitespace-nowrap text-quiet hover:text-text aria-[current=page]:border-accent aria-[current=page]:text-text";

/** The pages of one subject, as tabs that have addresses. */
export function SubNavigation({
  label,
  base,
  pages,
}: {
  label: string;
  base: string;
  pages: readonly { label: string; path: string }[];
}): ReactNode {
  const addressOf = (path: string): string => (path === "" ? base : `${base}/${path}`);
  return (
    <nav aria-label={label} className="flex gap-1 overflow-x-auto border-b border-line">
      {pages.map((page) => (
        <Link
          key={page.path}
          to={addressOf(page.path)}
          activeOptions={{ exact: page.path === "" }}
          className={LINK}
        >
          {page.label}
        </Link>
      ))}
    </nav>
  );
}
