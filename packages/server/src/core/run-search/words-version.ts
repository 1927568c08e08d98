/**
 * How the words of a run are cut and stored. A change of `run-words.ts` needs a new version: rows of an older one are made
 * again in the background.
 */
export const WORDS_VERSION = 1;
