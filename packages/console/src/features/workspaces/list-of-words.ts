/** Words between spaces or commas, each once. */
export const listOfWords = (text: string): string[] => [
  ...new Set(text.split(/[\s,]+/).filter((word) => word !== "")),
];
