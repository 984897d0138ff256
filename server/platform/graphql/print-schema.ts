import { writeFileSync } from 'node:fs'
import { printedSchema } from '../../schema.ts'

// Run by `npm run schema`. A test checks that the file matches the code.
writeFileSync(new URL('../../../schema.graphql', import.meta.url), printedSchema())
