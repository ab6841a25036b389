// Checks that the compressed files of the first page stay below a budget.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const BUDGET_KB = 500;
const DIST = fileURLToPath(new URL('../dist/', import.meta.url));

const page = readFileSync(`${DIST}index.html`, 'utf8');
const loaded = [...page.matchAll(/(?:src|href)="\/(assets\/[^"]+\.(?:js|css))"/g)].map((found) => found[1]);
if (loaded.length === 0) throw new Error('dist/index.html refers to no assets. Has the format of the build changed?');

let total = 0;
for (const name of new Set(loaded)) {
  const kb = gzipSync(readFileSync(DIST + name), { level: 9 }).length / 1000;
  total += kb;
  console.log(`${kb.toFixed(0).padStart(5)} kB  ${name}`);
}
console.log(`${total.toFixed(0).padStart(5)} kB  total; the budget is ${BUDGET_KB} kB`);
if (total > BUDGET_KB) {
  console.error(`The first page loads ${total.toFixed(0)} kB; the budget is ${BUDGET_KB} kB. Load parts of it later, with lazy(() => import(...)).`);
  process.exit(1);
}
