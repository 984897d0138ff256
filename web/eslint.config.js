import vue from 'eslint-plugin-vue'
import typescript from 'typescript-eslint'

// Lints Vue templates only; oxlint checks the scripts.
export default [
  ...vue.configs['flat/essential'],
  { files: ['**/*.vue'], languageOptions: { parserOptions: { parser: typescript.parser } } },
]
