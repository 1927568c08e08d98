/** What is wrong with a page, and where. */
export type Finding = { place: string; message: string };

export const formatFindings = (findings: readonly Finding[]): string =>
  findings.map(({ place, message }) => `${place} ${message}`).join("\n");
