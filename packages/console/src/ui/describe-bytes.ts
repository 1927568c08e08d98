const UNITS = ["bytes", "KiB", "MiB", "GiB", "TiB"] as const;

/** `0 bytes`, `812 bytes`, `1.5 KiB`, `64 MiB`. */
export function describeBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  const figure = unit === 0 || value >= 100 ? Math.round(value) : Math.round(value * 10) / 10;
  return `${figure.toLocaleString("en")} ${figure === 1 && unit === 0 ? "byte" : UNITS[unit]}`;
}
