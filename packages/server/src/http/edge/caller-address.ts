import { isIP, isIPv6 } from "node:net";

/**
 * What a caller's address is counted as: of IPv6 the /64, which is what one customer has at least. An address that no
 * proxy of ours could have written is nobody's, so that no caller chooses whom they are counted as.
 *
 * @param address as Fastify finds it: past the trusted proxies, of which there are none unless they were configured
 */
export function callerAddress(address: string | undefined): string {
  const plain = address?.replace(/^::ffff:(?=\d+\.)/i, "").replace(/%.*$/, "") ?? "";
  if (isIP(plain) === 0) return "unknown";
  return isIPv6(plain) ? `${groupsOf(plain).slice(0, 4).join(":")}::/64` : plain;
}

/** The eight groups of an IPv6 address, which may leave out zeros in one place. */
function groupsOf(address: string): string[] {
  const [head = "", tail] = address.toLowerCase().split("::");
  const left = head === "" ? [] : head.split(":");
  if (tail === undefined) return left.map(withoutZeros);
  const right = tail === "" ? [] : tail.split(":");
  const zeros = Array.from({ length: Math.max(0, 8 - left.length - right.length) }, () => "0");
  return [...left, ...zeros, ...right].map(withoutZeros);
}

const withoutZeros = (group: string): string => group.replace(/^0+(?=.)/, "");
