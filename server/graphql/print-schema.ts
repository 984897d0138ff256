import { writeFileSync } from 'node:fs'
import { printedSchema } from './schema.ts'

// `npm run schema` writes what the code prints; a test holds the two together.
writeFileSync(new URL('../../schema.graphql', import.meta.url), printedSchema())
