import { useCallback, useEffect, useRef, type RefCallback } from 'react';

type FocusTarget = () => HTMLElement | null | undefined;

/**
 * Moves the focus when the focused element is removed, for example after a form was sent. The focus moves to `to`, or if `to` is missing, to the
 * heading of the surrounding panel. Without this hook, the browser would drop the focus, and the next Tab would start at the top of the page.
 */
export function useFocusHandoff(to?: FocusTarget): RefCallback<HTMLElement> {
  const place = useRef(to);
  useEffect(() => {
    place.current = to;
  });
  return useCallback((part: HTMLElement | null) => {
    if (part === null) return;
    // The element is still in the document when its ref is cleaned up.
    return () => {
      if (!part.contains(document.activeElement)) return;
      const around = headingAround(part);
      // Wait until React has mounted the replacement of the element, which happens later in the same commit.
      queueMicrotask(() => {
        // Do nothing if another element already has the focus, such as a field of a dialog.
        if (document.activeElement !== document.body) return;
        const next = [place.current?.(), around].find((one) => one?.isConnected && one !== document.body);
        if (next) focus(next);
      });
    };
  }, []);
}

const headingAround = (part: HTMLElement): HTMLElement | null => document.getElementById(part.closest('section')?.getAttribute('aria-labelledby') ?? '');

function focus(place: HTMLElement): void {
  // Make the element focusable by script, but not by Tab, because headings and rows are not focusable by default.
  if (!place.hasAttribute('tabindex')) place.tabIndex = -1;
  place.focus();
}
