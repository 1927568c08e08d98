import type { ErrorGroup } from "@keelson/sdk";

/** One line after a change. */
export const describeErrorGroup = ({ id, status, title }: ErrorGroup): string =>
  `${id} is ${status}: ${title}`;
