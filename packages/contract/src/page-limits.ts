// The limits that pages need: in a file of their own, so that a page does not load the others.

export const JSON_DEPTH = 64;
export const PROCESS_INPUT_BYTES = 256 * 1024;
