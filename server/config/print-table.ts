import { readFileSync, writeFileSync } from 'node:fs'
import { configTable } from './table.ts'

// `npm run config-table` writes the table of settings into the help page. A unit test compares the two.
const page = new URL('../../web/help/configuration.md', import.meta.url)
writeFileSync(
  page,
  readFileSync(page, 'utf8').replace(
    /(<!-- configuration -->\n)[^]*?(<!-- \/configuration -->)/,
    (_all, start, end) => `${start}${configTable()}${end}`,
  ),
)
