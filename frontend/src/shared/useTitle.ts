import { createContext, use, useEffect } from 'react';

/** Tells the page around what is shown in it; null: nothing that has a name. */
export const TitleContext = createContext<(name: string | null) => void>(() => {});

/** For what has an address of its own inside of a page: its name comes first in the title of the document, as long as it is shown. */
export function useTitle(name: string): void {
  const tell = use(TitleContext);
  useEffect(() => {
    tell(name);
    return () => tell(null);
  }, [name, tell]);
}
