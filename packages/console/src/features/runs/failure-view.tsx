import type { Run } from "@keelson/contract";
import type { ReactNode } from "react";
import { Badge } from "../../ui/badge.tsx";
import { cx } from "../../ui/class-names.ts";
import { Section } from "../../ui/page.tsx";
import { visibleLine } from "../../ui/visible-text.ts";
import { CopyButton } from "../../ui/copy-button.tsx";
import { readStack } from "./read-stack.ts";

/** How the run failed. Frames of its own code stand out from those of Node.js and of packages. */
export function FailureView({ failure }: { failure: NonNullable<Run["failure"]> }): ReactNode {
  const lines = readStack(failure.stack ?? "");
  return (
    <Section
      title="Failure"
      actions={
        <span className="flex gap-1.5">
          <Badge tone="bad">{failure.kind.replaceAll("_", " ")}</Badge>
          <Badge>{failure.retryable ? "retried while attempts are left" : "not retried"}</Badge>
        </span>
      }
    >
      <p className="break-words whitespace-pre-wrap">
        <bdi>{failure.message.split("\n").map(visibleLine).join("\n")}</bdi>
      </p>
      {failure.stack !== null && (
        <div className="relative rounded-md border border-line bg-raised">
          <div className="absolute top-1 right-1">
            <CopyButton text={failure.stack} label="Copy the stack" />
          </div>
          <pre
            tabIndex={0}
            role="region"
            aria-label="Stack"
            className="max-h-96 overflow-auto p-3 pr-10 font-mono text-xs"
          >
            {lines.map(({ text, isOwn }, index) => (
              // oxlint-disable-next-line react/no-array-index-key -- lines of a text that never changes
              <div key={index} className={cx(isOwn ? "font-semibold text-text" : "text-quiet")}>
                {visibleLine(text) || " "}
              </div>
            ))}
          </pre>
        </div>
      )}
    </Section>
  );
}
