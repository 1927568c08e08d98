import { useEffect, type ReactNode } from "react";

/** A page without the shell, for people who are not, or not yet, signed in. */
export function LonePage({ title, children }: { title: string; children: ReactNode }): ReactNode {
  useEffect(() => {
    document.title = `${title} · Keelson`;
  }, [title]);
  return (
    <main className="grid min-h-full place-items-center p-4">
      <div className="flex w-full max-w-md flex-col gap-5 rounded-xl border border-line bg-surface p-6 shadow-sm">
        <div className="flex items-center gap-2">
          <img src="/favicon.svg" alt="" className="size-8" />
          <span className="text-lg font-semibold">Keelson</span>
        </div>
        <h1 className="text-xl font-semibold">{title}</h1>
        {children}
      </div>
    </main>
  );
}
