import js from '@eslint/js';
import a11y from 'eslint-plugin-jsx-a11y';
import hooks from 'eslint-plugin-react-hooks';
import globals from 'globals';
import ts from 'typescript-eslint';

export default ts.config(
  { ignores: ['dist', 'node_modules', 'src/api/schema.ts', 'src/api/fields.ts'] },
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  js.configs.recommended,
  { files: ['scripts/**/*.mjs'], languageOptions: { globals: globals.node } },
  {
    files: ['src/**/*.{ts,tsx}', 'vite.config.ts'],
    extends: [...ts.configs.recommendedTypeChecked, a11y.flatConfigs.strict, hooks.configs.flat['recommended-latest']],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname }, globals: globals.browser },
    rules: {
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_' }],
      // Some values are known to exist, but the type checker cannot prove it.
      '@typescript-eslint/no-non-null-assertion': 'off',
      // Methods of the data provider are async by contract, even without await.
      '@typescript-eslint/require-await': 'off',
      // react-query and react-admin show errors of async handlers.
      '@typescript-eslint/no-misused-promises': ['error', { checksVoidReturn: { attributes: false } }],
      // react-admin types records and filters as any.
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      // Fields of events and specs have the type unknown and are shown as text.
      '@typescript-eslint/no-base-to-string': 'off',
      // Props with method syntax are plain functions.
      '@typescript-eslint/unbound-method': 'off',
      'no-console': 'error',
      'no-restricted-imports': ['error', { paths: [
        { name: '@mui/icons-material', message: 'Import single icons by path: the whole set has 5 MB.' },
        { name: 'echarts', message: 'Import echarts/core and the charts used, in a lazily loaded file.' },
      ] }],
    },
  },
);
