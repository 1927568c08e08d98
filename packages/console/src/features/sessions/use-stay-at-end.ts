import { useEffect, useEffectEvent, useRef, type RefObject } from "react";

/** What is scrolled so far, or nearly, is at its end. */
export const END_PIXELS = 80;

/**
 * Keeps a list at its end, whatever comes and whatever takes room from its frame: only who scrolls up leaves the end, and
 * who scrolls back is there again. @returns what is to be called when the list was scrolled.
 */
export function useStayAtEnd(
  frame: RefObject<HTMLElement | null>,
  content: RefObject<HTMLElement | null>,
  toEnd: () => void,
): () => void {
  const isWanted = useRef(true);
  const lastTop = useRef(0);
  const distance = (): number => {
    if (frame.current === null) return 0;
    const { scrollHeight, scrollTop, clientHeight } = frame.current;
    return scrollHeight - scrollTop - clientHeight;
  };
  const settle = useEffectEvent(() => {
    if (isWanted.current && distance() > 1) toEnd();
  });
  useEffect(() => {
    const observer = new ResizeObserver(() => settle());
    for (const { current } of [frame, content]) if (current !== null) observer.observe(current);
    return () => observer.disconnect();
  }, [frame, content]);
  return () => {
    const top = frame.current?.scrollTop ?? 0;
    if (distance() <= END_PIXELS) isWanted.current = true;
    else if (top < lastTop.current) isWanted.current = false;
    lastTop.current = top;
  };
}
