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
      // That something is there is known from elsewhere now and then; the type checker wants to hear it.
      '@typescript-eslint/no-non-null-assertion': 'off',
      // Methods of data provider and router are async by contract.
      '@typescript-eslint/require-await': 'off',
      // Refused promises of handlers are shown by react-query and react-admin.
      '@typescript-eslint/no-misused-promises': ['error', { checksVoidReturn: { attributes: false } }],
      // What react-admin hands out (records, filters) has no types: the pages give it some.
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      // Fields of events and specs may be anything; they are shown as they are.
      '@typescript-eslint/no-base-to-string': 'off',
      // Callbacks among props are functions, however they are declared.
      '@typescript-eslint/unbound-method': 'off',
      'no-console': 'error',
      'no-restricted-imports': ['error', { paths: [
        { name: '@mui/icons-material', message: 'Import the one icon by its path: the whole set is 5 MB.' },
        { name: 'echarts', message: 'Import echarts/core and the charts that are shown, in a file that is loaded lazily.' },
      ] }],
    },
  },
);
