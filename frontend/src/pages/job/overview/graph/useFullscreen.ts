import { useCallback, useSyncExternalStore } from 'react';

function subscribe(onChange: () => void): () => void {
  document.addEventListener('fullscreenchange', onChange);
  return () => document.removeEventListener('fullscreenchange', onChange);
}

/** Shows an element in full screen. Returns null if the browser does not support full screen. */
export function useFullscreen(element: HTMLElement | null): { active: boolean; toggle: () => void } | null {
  const active = useSyncExternalStore(subscribe, () => element !== null && document.fullscreenElement === element);
  const toggle = useCallback(() => {
    // The browser can refuse full screen. In this case, the page stays as it is.
    void (active ? document.exitFullscreen() : element?.requestFullscreen())?.catch(() => undefined);
  }, [active, element]);
  return document.fullscreenEnabled ? { active, toggle } : null;
}
