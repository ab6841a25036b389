// Writes src/api/schema.ts from the OpenAPI document of the backend; with --check it only says whether that is up to date.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import openapiTS, { astToString } from 'openapi-typescript';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const TARGET = fileURLToPath(new URL('../src/api/schema.ts', import.meta.url));
const HEAD = '// Written by `make ui-types` from the OpenAPI document of the backend. Changes belong there.\n/* eslint-disable */\n\n';

const python = process.env.WEIR_PYTHON ?? `${ROOT}/.venv/bin/python`;
const document = JSON.parse(execFileSync(python, [`${ROOT}/tools/openapi.py`], { encoding: 'utf8', maxBuffer: 64 << 20 }));
const written = HEAD + astToString(await openapiTS(document, { enumValues: true, alphabetize: true, defaultNonNullable: false }));

const found = existsSync(TARGET) ? readFileSync(TARGET, 'utf8') : '';
if (found === written) {
  console.log('src/api/schema.ts agrees with the backend');
} else if (process.argv.includes('--check')) {
  console.error('src/api/schema.ts does not agree with the backend any more. Write it anew: make ui-types');
  process.exit(1);
} else {
  writeFileSync(TARGET, written);
  console.log('src/api/schema.ts is written anew');
}
