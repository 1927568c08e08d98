/** A decimal number as its significant digits and the power of ten of the last of them. */
type Decimal = { digits: string; exponent: number };

const NUMBER = /^-?([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/;
const ZERO = 48;
const SMALLEST_NORMAL = 2 ** -1022;
/** With so many digits every double can be told from its neighbours; many programs write them all. */
const DOUBLE_DIGITS = 17;

function decimalOf(text: string): Decimal {
  const [, whole = "", fraction = "", exponent = "0"] = NUMBER.exec(text) ?? [];
  const all = (whole + fraction).replace(/^0+/, "");
  // Not by an expression: on a megabyte of zeros before a one, `0+$` would look at each of them again and again.
  let end = all.length;
  while (all.charCodeAt(end - 1) === ZERO) end -= 1;
  const digits = all.slice(0, end);
  return { digits, exponent: Number(exponent) - fraction.length + all.length - digits.length };
}

/**
 * Whether a number of a JSON text is still the number that was meant once it is an IEEE 754 double (I-JSON, RFC 7493,
 * section 2.2): it is exactly the double or its shortest writing, or a fraction with no more digits than a double has.
 * `9007199254740993`, `3.141592653589793238462643383279` and `1E400` are not; `333333333.33333329` is.
 */
export function survivesDouble(text: string): boolean {
  const value = Number(text);
  if (!Number.isFinite(value)) return false;
  // Fifteen digits always survive, and nothing shorter than an exponent is out of range.
  if (text.length <= 15 && !/[eE]/.test(text)) return true;
  const given = decimalOf(text);
  if (given.digits === "") return true;
  const shortest = decimalOf(String(value));
  if (given.digits === shortest.digits && given.exponent === shortest.exponent) return true;
  if (given.exponent >= 0) return isExactly(value, given);
  return (
    given.digits.length <= DOUBLE_DIGITS && Math.abs(value) >= SMALLEST_NORMAL && !Number.isInteger(value)
  );
}

/** Both are integers, and at most as large as a double is. */
function isExactly(value: number, { digits, exponent }: Decimal): boolean {
  return BigInt(digits) * 10n ** BigInt(exponent) === BigInt(Math.abs(value));
}
