import { readFileSync, writeFileSync } from 'node:fs'
import { configTable } from './table.ts'

// `npm run config-table` writes the table into the README; a test holds the two together.
const readme = new URL('../../README.md', import.meta.url)
writeFileSync(
  readme,
  readFileSync(readme, 'utf8').replace(
    /(<!-- configuration -->\n)[^]*?(<!-- \/configuration -->)/,
    (_all, start, end) => `${start}${configTable()}${end}`,
  ),
)
