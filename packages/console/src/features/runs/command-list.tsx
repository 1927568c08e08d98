import type { ReactNode } from "react";
import { CopyText } from "../../ui/copy-button.tsx";
import type { Commands } from "./commands-of.ts";

/** The same in a shell, by the command line and in a program. */
export function CommandList({ commands: { curl, keelson, sdk } }: { commands: Commands }): ReactNode {
  const rows = [
    ["curl", curl],
    ["Command line", keelson],
    ["SDK", sdk],
  ] as const;
  return (
    <dl className="flex flex-col gap-2">
      {rows.map(
        ([name, text]) =>
          text !== null && (
            <div key={name} className="min-w-0">
              <dt className="mb-0.5 text-xs text-quiet">{name}</dt>
              <dd>
                <CopyText text={text} />
              </dd>
            </div>
          ),
      )}
    </dl>
  );
}
