import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

import react from '@vitejs/plugin-react';
import type { Plugin } from 'vite';
import { defineConfig } from 'vitest/config';

// The API puts a fresh one in its place with each answer: backend/weir_backend/ui.py.
const NONCE = '__WEIR_NONCE__';
const COMPRESSIBLE = /\.(js|css|svg)$/;
const WORTH_IT_BYTES = 1024;

/** Beside each asset a .gz, which the API sends to whoever accepts it: it compresses nothing itself. */
function compressed(): Plugin {
  return {
    name: 'weir:compressed',
    apply: 'build',
    writeBundle({ dir }) {
      for (const name of readdirSync(dir!, { recursive: true, encoding: 'utf8' })) {
        if (!COMPRESSIBLE.test(name)) continue;
        const content = readFileSync(join(dir!, name));
        if (content.length > WORTH_IT_BYTES) writeFileSync(join(dir!, `${name}.gz`), gzipSync(content, { level: 9 }));
      }
    },
  };
}

export default defineConfig({
  plugins: [react(), compressed()],
  html: { cspNonce: NONCE },
  build: { outDir: 'dist', assetsInlineLimit: 0, chunkSizeWarningLimit: 1700 },
  server: { proxy: { '/api': process.env.WEIR_URL ?? 'http://127.0.0.1:8700' } },
  test: {
    environment: 'jsdom',
    setupFiles: ['src/testing/setup.ts'],
    include: ['src/**/*.test.{ts,tsx}'],
    restoreMocks: true,
    // The whole application is made for some tests, on two cores that others use as well.
    testTimeout: 60_000,
    isolate: false,
  },
});
