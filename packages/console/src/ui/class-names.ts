/** Joins what is there; later classes do not win over earlier ones, so callers give no contradicting ones. */
export const cx = (...names: (string | false | null | undefined)[]): string =>
  names.filter((name) => typeof name === "string" && name !== "").join(" ");
