#!/usr/bin/env node
// What every npm script runs. Plain JavaScript without dependencies: on a fresh checkout it starts under whatever Node
// the machine has, before anything is installed.
import { fileURLToPath } from 'node:url'
import { bench, check, dev, format, lint, schema, test } from './launch/commands.mjs'
import { buildConsole } from './launch/console.mjs'
import { ensureInstalled } from './launch/install.mjs'
import { start } from './launch/start.mjs'

const commands = { start, test, dev, check, lint, format, bench, schema, build: () => buildConsole() }

process.chdir(fileURLToPath(new URL('..', import.meta.url)))
const [name = 'start', ...rest] = process.argv.slice(2)
const command = commands[name]
if (!command) {
  console.error(`Unknown command "${name}". There are: ${Object.keys(commands).join(', ')}.`)
  process.exit(64)
}
try {
  ensureInstalled()
  process.exitCode = await command(rest)
} catch (error) {
  console.error(error.message)
  process.exitCode = 1
}
