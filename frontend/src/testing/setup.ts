import '@testing-library/jest-dom/vitest';

import { cleanup, configure } from '@testing-library/react';
import { afterEach } from 'vitest';

// Tests wait long for elements, because tabs are loaded lazily and some CI machines load them slowly.
configure({ asyncUtilTimeout: 25_000 });

afterEach(cleanup);

// jsdom has no matchMedia. Tests run with a screen width of 1280 px and the light theme.
window.matchMedia ??= (query) =>
  ({
    matches: /min-width/.test(query) && Number(/(\d+(\.\d+)?)px/.exec(query)?.[1] ?? 0) <= 1280,
    media: query, onchange: null, addListener: () => {}, removeListener: () => {}, addEventListener: () => {}, removeEventListener: () => {}, dispatchEvent: () => false,
  }) as MediaQueryList;

// jsdom has no canvas and warns on each use. Tests check charts by their labels (shared/chart).
HTMLCanvasElement.prototype.getContext = () => null;

// jsdom does not scroll.
Element.prototype.scrollIntoView ??= () => {};

// The graph requires ResizeObserver. In jsdom, elements have no size, so this observer never reports a change.
window.ResizeObserver ??= class {
  observe(): void {}
  unobserve(): void {}
  disconnect(): void {}
};
