import type { Usage } from "@keelson/contract";
import type { ReactNode } from "react";
import { visibleText } from "../../ui/visible-text.ts";
import { describeSums } from "./describe-usage.ts";

/** What calls of models used, a model each, and the sum of several. */
export function ModelsUsed({ usage: { models, ...all } }: { usage: Usage }): ReactNode {
  return (
    <dl className="flex flex-col divide-y divide-line rounded-lg border border-line bg-surface text-xs">
      {models.map(({ model, ...sums }) => (
        <Sums key={model} name={model} sums={sums} />
      ))}
      {models.length > 1 && <Sums name="All models" sums={all} />}
    </dl>
  );
}

function Sums({ name, sums }: { name: string; sums: Omit<Usage, "models"> }): ReactNode {
  const { input_tokens: input, cached_input_tokens: cached, output_tokens: output, reasoning_tokens } = sums;
  const details = `${input} in (${cached} cached), ${output} out (${reasoning_tokens} of reasoning)`;
  return (
    <div className="flex flex-wrap justify-between gap-x-3 px-3 py-2">
      <dt className="font-medium break-all">
        <bdi>{visibleText(name)}</bdi>
      </dt>
      <dd title={details} className="text-quiet">
        {describeSums(sums)}
      </dd>
    </div>
  );
}
