const UNITS = ["bytes", "KiB", "MiB", "GiB", "TiB"] as const;

/** `512 bytes`, `3.4 KiB`, `120 MiB`. */
export function describeBytes(bytes: number): string {
  const power = Math.min(Math.floor(Math.log2(Math.max(bytes, 1)) / 10), UNITS.length - 1);
  const value = bytes / 1024 ** power;
  const text = power === 0 || value >= 100 ? String(Math.round(value)) : value.toFixed(1);
  return `${text} ${UNITS[power] ?? "bytes"}`;
}
