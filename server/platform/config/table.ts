import { oidcProviderRows } from './oidc-variables.ts'
import { variables } from './variables.ts'
import { readFileSync, writeFileSync } from 'node:fs'

/** Returns the settings as a Markdown table, for web/help/configuration.md. */
export function configTable(): string {
  const all = Object.entries(variables).flatMap(([name, variable]) => [
    ...(name === 'OIDC_SIGNUP' ? oidcProviderRows : []),
    [name, variable] as const,
  ])
  const rows = all.map(([name, variable]) => `| \`${name}\` | ${defaultOf(variable)} | ${variable.about} |`)
  return ['| Variable | Default | Meaning |', '| --- | --- | --- |', ...rows, ''].join('\n')
}

function defaultOf(variable: { about: string; default?: string; shownDefault?: string; required?: boolean }): string {
  if (variable.required) return '*required*'
  if (variable.shownDefault) return variable.shownDefault
  return variable.default ? `\`${variable.default}\`` : ''
}

// Run by `npm run config-table`. Writes the table of settings into the help page; a unit test compares the two.
if (process.argv[1] === import.meta.filename) {
  const page = new URL('../../../web/help/configuration.md', import.meta.url)
  const text = readFileSync(page, 'utf8')
  writeFileSync(page, text.replace(/(?<=<!-- configuration -->\n)[^]*?(?=<!-- \/configuration -->)/, configTable))
}
