import { useEffect, type ReactNode } from "react";
import { cx } from "./class-names.ts";

/** A page: its heading, which is also the tab's title, what can be done with what it shows, and its content. */
export function Page({
  title,
  subtitle,
  actions,
  isWide = false,
  children,
}: {
  title: string;
  subtitle?: ReactNode;
  actions?: ReactNode;
  /** Fills the window and scrolls inside, for tables and terminals. */
  isWide?: boolean;
  children: ReactNode;
}): ReactNode {
  useEffect(() => {
    document.title = `${title} · Keelson`;
  }, [title]);
  return (
    <div
      className={cx("flex flex-col gap-4 p-4 md:p-6", isWide ? "h-full min-h-0" : "mx-auto w-full max-w-6xl")}
    >
      <header className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2">
        <div className="min-w-0">
          <h1 className="truncate text-xl font-semibold">{title}</h1>
          {subtitle !== undefined && <div className="mt-1 text-sm text-quiet">{subtitle}</div>}
        </div>
        {actions !== undefined && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
      </header>
      {children}
    </div>
  );
}

/** A part of a page with a heading of its own. */
export function Section({
  title,
  actions,
  children,
}: {
  title: string;
  actions?: ReactNode;
  children: ReactNode;
}): ReactNode {
  return (
    <section aria-label={title} className="flex flex-col gap-2">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <h2 className="text-base font-semibold">{title}</h2>
        {actions}
      </div>
      {children}
    </section>
  );
}

export function Card({ children, className }: { children: ReactNode; className?: string }): ReactNode {
  return <div className={cx("rounded-lg border border-line bg-surface p-4", className)}>{children}</div>;
}

/** Names and their values, such as the fields of a resource. */
export function Facts({ rows }: { rows: readonly (readonly [string, ReactNode])[] }): ReactNode {
  return (
    <dl className="grid grid-cols-[repeat(auto-fill,minmax(11rem,1fr))] gap-x-6 gap-y-3">
      {rows.map(([name, value]) => (
        <div key={name} className="min-w-0">
          <dt className="text-xs text-quiet">{name}</dt>
          <dd className="mt-0.5 break-words">{value}</dd>
        </div>
      ))}
    </dl>
  );
}
