/** Who can be talked to, as the page and its backend name them. */
export const ACTORS = { assistant: "Assistant", coder: "Coding agent" } as const;

export type ActorName = keyof typeof ACTORS;

export const isActorName = (name: string): name is ActorName => Object.hasOwn(ACTORS, name);
