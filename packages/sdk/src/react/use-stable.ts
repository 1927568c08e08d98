import { useCallback, useEffect, useRef } from "react";

/**
 * One function for as long as the component lives, which calls the one that was passed at the last rendering: a function that is
 * written where it is passed is a new one each time, and everything would begin again.
 */
export function useStable<Arguments extends unknown[], Result>(
  call: (...given: Arguments) => Result,
): (...given: Arguments) => Result {
  const latest = useRef(call);
  useEffect(() => void (latest.current = call));
  return useCallback((...given: Arguments) => latest.current(...given), []);
}
