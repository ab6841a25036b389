import '@fontsource-variable/inter/wght.css';

import createCache from '@emotion/cache';
import { CacheProvider } from '@emotion/react';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';

import { App, newQueryClient } from './App';

// Styles that are created at run time need the page's nonce, because the Content-Security-Policy forbids other styles.
const nonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce;
const styles = createCache({ key: 'weir', prepend: true, ...(nonce ? { nonce } : {}) });

async function start(): Promise<void> {
  if (import.meta.env.MODE === 'fake') {
    const { installFakeApi } = await import('./fake');
    installFakeApi();
  }
  createRoot(document.getElementById('root')!).render(
    <StrictMode>
      <CacheProvider value={styles}>
        <App queryClient={newQueryClient()} />
      </CacheProvider>
    </StrictMode>,
  );
}

void start();
