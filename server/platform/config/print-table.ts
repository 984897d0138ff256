import { readFileSync, writeFileSync } from 'node:fs'
import { configTable } from './table.ts'

// Run by `npm run config-table`. Writes the table of settings into the help page; a unit test compares the two.
const page = new URL('../../../web/help/configuration.md', import.meta.url)
writeFileSync(
  page,
  readFileSync(page, 'utf8').replace(
    /(<!-- configuration -->\n)[^]*?(<!-- \/configuration -->)/,
    (_all, start, end) => `${start}${configTable()}${end}`,
  ),
)
