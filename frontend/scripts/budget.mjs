// What the first page loads, compressed, must stay under the budget. Heavy things are to be loaded by the pages that need them.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const BUDGET_KB = 500;
const DIST = fileURLToPath(new URL('../dist/', import.meta.url));

const page = readFileSync(`${DIST}index.html`, 'utf8');
const loaded = [...page.matchAll(/(?:src|href)="\/(assets\/[^"]+\.(?:js|css))"/g)].map((found) => found[1]);
if (loaded.length === 0) throw new Error('dist/index.html loads nothing: has the form of the build changed?');

let total = 0;
for (const name of new Set(loaded)) {
  const kb = gzipSync(readFileSync(DIST + name), { level: 9 }).length / 1000;
  total += kb;
  console.log(`${kb.toFixed(0).padStart(5)} kB  ${name}`);
}
console.log(`${total.toFixed(0).padStart(5)} kB  in all, of ${BUDGET_KB} kB`);
if (total > BUDGET_KB) {
  console.error('The first page loads too much: load what only some pages need with lazy(() => import(...)).');
  process.exit(1);
}
