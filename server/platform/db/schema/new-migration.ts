import { relative } from 'node:path'
import { addMigration } from './migration-files.ts'

try {
  for (const path of addMigration(process.argv[2] ?? '', new Date())) console.log(relative('', path))
  console.log('Fill in both, change the entities, and run the tests: they compare the two.')
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 64
}
