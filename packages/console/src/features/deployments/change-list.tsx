import type { ReactNode } from "react";
import { Badge, type Tone } from "../../ui/badge.tsx";
import type { Change } from "./diff-deployments.ts";

const TONES: Record<Change["what"], Tone> = { added: "good", removed: "bad", changed: "warn" };

/** What is declared otherwise. */
export function ChangeList({ changes }: { changes: readonly Change[] }): ReactNode {
  if (changes.length === 0)
    return <p className="text-quiet">Both versions declare the same. Only the code differs.</p>;
  return (
    <ul className="flex flex-col gap-2">
      {changes.map((change) => (
        <li key={`${change.kind} ${change.name}`} className="flex flex-col gap-1">
          <span className="flex flex-wrap items-center gap-2">
            <Badge tone={TONES[change.what]}>{change.what}</Badge>
            <span>
              {change.kind} <strong className="font-medium break-all">{change.name}</strong>
            </span>
          </span>
          {change.members.length > 0 && (
            <ul className="ml-4 flex flex-col gap-1 border-l border-line pl-3 text-xs">
              {change.members.map(({ name, before, after }) => (
                <li key={name} className="break-all">
                  <code className="font-mono">{name}</code>: <s className="text-quiet">{shown(before)}</s>{" "}
                  <span aria-hidden>→</span> <span className="sr-only">now </span>
                  <span>{shown(after)}</span>
                </li>
              ))}
            </ul>
          )}
        </li>
      ))}
    </ul>
  );
}

const MAX_SHOWN_CHARACTERS = 400;

function shown(value: unknown): string {
  if (value === null) return "none";
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  return text.length <= MAX_SHOWN_CHARACTERS ? text : `${text.slice(0, MAX_SHOWN_CHARACTERS)} …`;
}
