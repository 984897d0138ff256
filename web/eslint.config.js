import vue from 'eslint-plugin-vue'
import typescript from 'typescript-eslint'

// Templates only: oxlint looks after the scripts.
export default [
  ...vue.configs['flat/essential'],
  { files: ['**/*.vue'], languageOptions: { parserOptions: { parser: typescript.parser } } },
]
