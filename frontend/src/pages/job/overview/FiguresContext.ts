import { createContext, use } from 'react';

import type { ChainFigures } from './figures';

/** By index of the chain. */
export const FiguresContext = createContext<ReadonlyMap<number, ChainFigures>>(new Map());

export const useFigures = (chain: number): ChainFigures | undefined => use(FiguresContext).get(chain);
