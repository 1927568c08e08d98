import type { Usage } from "@keelson/contract";
import { formatUsd } from "@keelson/contract/plain";

type Sums = Omit<Usage, "models">;

const counted = (count: number, one: string): string =>
  `${count.toLocaleString("en")} ${one}${count === 1 ? "" : "s"}`;

/** Tokens in and out, and the cost, when somebody has said it. */
export function describeSums({
  calls,
  input_tokens: input,
  output_tokens: output,
  cost_usd: cost,
}: Sums): string {
  const parts = [counted(calls, "call"), counted(input + output, "token")];
  return [...parts, ...(cost === null ? [] : [formatUsd(cost)])].join(", ");
}
