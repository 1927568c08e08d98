const created = new Set<string>();

/** A terminal that this page has just made: nothing of its output was shown, or answered, before. */
export const noteNewTerminal = (ptyId: string): void => void created.add(ptyId);

/** Whether it is new, once. */
export const takeNewTerminal = (ptyId: string): boolean => created.delete(ptyId);
