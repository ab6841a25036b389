import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

import react from '@vitejs/plugin-react';
import type { Plugin } from 'vite';
import { defineConfig } from 'vitest/config';

// The API replaces this placeholder in each response: backend/weir_backend/ui.py.
const NONCE = '__WEIR_NONCE__';
const COMPRESSIBLE = /\.(js|css|svg)$/;
const MIN_BYTES = 1024;

/** Write a .gz file next to each asset. The API sends it to clients that accept gzip, and compresses nothing itself. */
function gzipAssets(): Plugin {
  return {
    name: 'weir:gzip-assets',
    apply: 'build',
    writeBundle({ dir }) {
      for (const name of readdirSync(dir!, { recursive: true, encoding: 'utf8' })) {
        if (!COMPRESSIBLE.test(name)) continue;
        const content = readFileSync(join(dir!, name));
        if (content.length > MIN_BYTES) writeFileSync(join(dir!, `${name}.gz`), gzipSync(content, { level: 9 }));
      }
    },
  };
}

export default defineConfig({
  plugins: [react(), gzipAssets()],
  html: { cspNonce: NONCE },
  build: { outDir: 'dist', assetsInlineLimit: 0, chunkSizeWarningLimit: 1700 },
  server: { proxy: { '/api': process.env.WEIR_URL ?? 'http://127.0.0.1:8700' } },
  test: {
    environment: 'jsdom',
    setupFiles: ['src/testing/setup.ts'],
    include: ['src/**/*.test.{ts,tsx}'],
    restoreMocks: true,
    // Some tests render the whole application, and may share two cores with other processes.
    testTimeout: 60_000,
    isolate: false,
    // By default, one of two cores would be idle.
    maxWorkers: '100%',
  },
});
