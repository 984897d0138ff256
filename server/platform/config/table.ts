import { variables } from './variables.ts'

/** Returns the settings as a Markdown table, for web/help/configuration.md. */
export function configTable(): string {
  const rows = Object.entries(variables).map(([name, variable]) => `| \`${name}\` | ${defaultOf(variable)} | ${variable.about} |`)
  return ['| Variable | Default | Meaning |', '| --- | --- | --- |', ...rows, ''].join('\n')
}

function defaultOf(variable: { about: string; default?: string; shownDefault?: string; required?: boolean }): string {
  if (variable.required) return '*required*'
  if (variable.shownDefault) return variable.shownDefault
  return variable.default ? `\`${variable.default}\`` : ''
}
